"""Subjects as people write them."""

from __future__ import annotations

import pytest

from simkit.analysis.rbac.subject import groups_in, identity_of, normalize_subject, parse_subject, text_of
from simkit.logic.rbac.binding import Subject
from simkit.meta.errors import SimkitError


@pytest.mark.parametrize(
    ("text", "kind", "name", "namespace"),
    [
        ("alice", "User", "alice", ""),
        ("user:alice", "User", "alice", ""),
        ("user:group:x", "User", "group:x", ""),
        ("group:oidc:devs", "Group", "oidc:devs", ""),
        ("sa:ci/runner", "ServiceAccount", "runner", "ci"),
        ("sa:ci:runner", "ServiceAccount", "runner", "ci"),
        ("system:serviceaccount:ci:runner", "ServiceAccount", "runner", "ci"),
        ("system:kube-proxy", "User", "system:kube-proxy", ""),
    ],
)
def test_every_form_is_read(text: str, kind: str, name: str, namespace: str) -> None:
    """Each way of writing a subject names what it says, and what is written back is read the same."""
    found = parse_subject(text)
    assert found == Subject(kind, name, namespace)
    assert parse_subject(text_of(found)) == found
    assert parse_subject(found) is found


@pytest.mark.parametrize("text", ["", "group:", "user:", "sa:", "sa:runner", "sa:/runner", "sa:ci/"])
def test_half_a_subject_is_refused(text: str) -> None:
    """A subject without a name or a service account without a namespace is told how to write it."""
    with pytest.raises(SimkitError, match="write"):
        parse_subject(text)


def test_the_server_adds_groups() -> None:
    """Service accounts are in their three groups, users in one, the nameless user in another."""
    account = identity_of("sa:ci/runner")
    assert account.user == "system:serviceaccount:ci:runner"
    assert account.groups == ("system:serviceaccounts", "system:serviceaccounts:ci", "system:authenticated")
    assert identity_of("alice", ["devs"]).groups == ("devs", "system:authenticated")
    assert identity_of("system:anonymous").groups == ("system:unauthenticated",)
    assert identity_of("group:system:unauthenticated").groups == ("system:unauthenticated",)
    members = identity_of("group:system:serviceaccounts:ci").groups
    assert set(members) == {"system:serviceaccounts:ci", "system:serviceaccounts", "system:authenticated"}


def test_a_membership_table_is_read_as_subjects() -> None:
    """Members of a table are matched as what they are, however they are written."""
    table = {"devs": ["alice", "system:serviceaccount:ci:runner"], "ops": ["bob"]}
    assert groups_in(table, parse_subject("sa:ci/runner")) == ("devs",)
    assert groups_in(table, parse_subject("user:bob")) == ("ops",)
    assert normalize_subject(Subject("User", "system:serviceaccount:ci:runner")) == Subject(
        "ServiceAccount", "runner", "ci"
    )
