"""The access matrix says of everybody, everywhere, what ``can`` says one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings

from simkit.analysis.access.can import can
from simkit.analysis.access.matrix import VERBS, access_matrix
from simkit.meta.errors import SimkitError
from simkit.snapshot.memory import MemorySnapshot
from tests.analysis.worlds import PLACES, account, binding, clusters, role, rule, world

if TYPE_CHECKING:
    import pandas as pd

pytestmark = pytest.mark.slow

RESOURCES = ("pods", "pods/exec", "secrets", "namespaces", "nodes", "deployments")
SUBJECTS = ("ann", "bob", "sa:dev/app", "sa:ops/app", "group:devs", "group:system:masters", "system:anonymous")
MEMBERS = {"devs": ["bob", "sa:ops/app"]}
SMALL = world(
    account("dev", "app"),
    role("readers", rule("get,list", "pods"), rule("get", "secrets", names="db"), rule("get", urls="/metrics")),
    role("local", rule("get", "nodes"), rule("*", "*/exec"), rule("get,list", "namespaces"), namespace="dev"),
    binding("wide", "readers", "user:ann", "group:devs"),
    binding("again", "readers", "user:ann", namespace="dev"),
    binding("narrow", "local", "user:ann", namespace="dev", local=True),
)


def said(found: pd.DataFrame) -> Callable[[str, str, str, str], bool]:
    """The answers of a table: the row of the namespace counts if there is one, else that of ``*``."""
    rows = found.set_index(["subject", "namespace", "resource"]).to_dict("index")

    def answer(subject: str, place: str, resource: str, verb: str) -> bool:
        row = rows.get((subject, place, resource)) or rows.get((subject, "*", resource)) or {}
        return bool(row.get(verb, False))

    return answer


@settings(max_examples=40)
@given(clusters())
def test_it_agrees_with_can(snapshot: MemorySnapshot) -> None:
    """Every field of random clusters, with a membership table, for all namespaces and for chosen ones."""
    whole = access_matrix(snapshot, SUBJECTS, resources=RESOURCES, verbs=("get", "create"), members=MEMBERS)
    chosen = access_matrix(
        snapshot, SUBJECTS, resources=RESOURCES, verbs=("get", "create"), namespaces=PLACES, members=MEMBERS
    )
    in_whole, in_chosen = said(whole), said(chosen)
    for subject in SUBJECTS:
        text = f"user:{subject}" if ":" not in subject or subject == "system:anonymous" else subject
        for place in PLACES:
            for resource in RESOURCES:
                for verb in ("get", "create"):
                    answer = can(snapshot, subject, verb, resource, namespace=place or None, members=MEMBERS).allowed
                    assert in_whole(text, place, resource, verb) is answer, (subject, place, resource, verb)
                    assert in_chosen(text, place, resource, verb) is answer, (subject, place, resource, verb)


def test_rows_and_their_evidence() -> None:
    """Namespaces have rows where they differ, with every binding that speaks, cluster-wide ones too."""
    found = access_matrix(SMALL, "ann", resources=RESOURCES)
    assert list(found.columns) == ["subject", "namespace", "resource", *VERBS, "bindings"]
    rows = {(row.namespace, row.resource): row for row in found.itertuples()}
    assert set(rows) == {("*", "pods"), ("dev", "pods"), ("dev", "pods/exec"), ("dev", "namespaces")}
    assert rows["dev", "pods"].bindings == ("ClusterRoleBinding wide", "RoleBinding dev/again")
    assert rows["dev", "pods/exec"].bindings == ("RoleBinding dev/narrow",)
    assert rows["dev", "pods/exec"].deletecollection
    assert (rows["dev", "namespaces"].get, rows["dev", "namespaces"].list) == (True, False)
    assert found["subject"].dtype == "category"


def test_everybody_is_asked_about() -> None:
    """Left out, the subjects are all that are known; who may do nothing has no row."""
    found = access_matrix(SMALL, resources=["pods"])
    assert set(found["subject"]) == {"user:ann", "group:devs", "group:system:masters"}
    assert found.loc[found["subject"] == "group:system:masters", list(VERBS)].to_numpy().all()
    special = access_matrix(SMALL, "group:system:masters", resources=["users", "roles"], verbs=["impersonate", "bind"])
    assert list(special["resource"]) == ["users", "roles"]
    assert access_matrix(SMALL, "nobody").empty
    assert access_matrix(SMALL, [], resources=["pods"]).empty


def test_no_namespace_means_no_row_of_it() -> None:
    """Asked for one namespace, cluster-wide resources still have their row, and only those."""
    found = access_matrix(SMALL, ["ann"], resources=["pods", "nodes"], namespaces=["dev"])
    assert set(found["namespace"]) == {"dev"}
    masters = access_matrix(SMALL, "group:system:masters", resources=["pods", "nodes"], namespaces=["dev"])
    assert [tuple(row[1:3]) for row in masters.itertuples(index=False)] == [("*", "nodes"), ("dev", "pods")]


def test_wrong_words_are_told() -> None:
    """A resource that is none is named with near ones."""
    with pytest.raises(SimkitError, match="did you mean 'pod' or 'pods'"):
        access_matrix(SMALL, resources=["podz"])


def test_subjects_as_they_are_written() -> None:
    """Service accounts written as users are the same subject."""
    found = access_matrix(SMALL, ["system:serviceaccount:dev:app", "sa:dev/app"], members={"devs": ["sa:dev/app"]})
    assert set(found["subject"]) == {"sa:dev/app"}
    assert len(found) == len(found.drop_duplicates(["subject", "namespace", "resource"]))


def test_one_word_stands_for_itself_and_each_counts_once() -> None:
    """Also where a list is expected; a misspelt verb is an error, and no resources are none."""
    snapshot = world(role("r", rule("get", "pods")), binding("b", "r", "user:ann"))
    found = access_matrix(snapshot, "ann", resources="pods", verbs="get")
    assert found[["resource", "get"]].values.tolist() == [["pods", True]]
    assert len(access_matrix(snapshot, "ann", resources=["pods", "pods"], verbs=["get", "get"])) == 1
    assert access_matrix(snapshot, "ann", resources=[]).empty
    with pytest.raises(SimkitError, match="did you mean 'get'"):
        access_matrix(snapshot, "ann", resources=["pods"], verbs=["gett"])
