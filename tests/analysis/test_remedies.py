"""Each change that is offered for a no makes it a yes, and replaces nothing that is there."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.analysis.access.can import AccessDecision, can
from simkit.logic.rbac.binding import RESOURCES_OF_KINDS, key_of
from simkit.meta.objects import Object
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.memory import MemorySnapshot
from simkit.snapshot.overlay import OverlaySnapshot
from tests.analysis.worlds import binding, clusters, role, rule, world

pytestmark = pytest.mark.slow

QUESTIONS = st.tuples(
    st.sampled_from(("ann", "sa:dev/app", "group:devs", "bob")),
    st.sampled_from(("get", "create", "impersonate")),
    st.sampled_from(("pods", "pods/exec", "secrets", "namespaces", "nodes", "deployments", "users")),
    st.sampled_from(("", "one")),
    st.sampled_from(("", "dev", "ops")),
)


def _asked(snapshot: Snapshot, answer: AccessDecision) -> AccessDecision:
    """The same question asked of another snapshot."""
    ask = answer.ask
    return can(
        snapshot,
        answer.subject,
        ask.verb,
        ask.resource,
        subresource=ask.subresource,
        name=ask.name,
        namespace=answer.namespace or None,
        api_group=ask.group,
    )


@settings(max_examples=150)
@given(clusters(), QUESTIONS)
def test_every_remedy_allows_it(snapshot: MemorySnapshot, question: tuple[str, str, str, str, str]) -> None:
    """Applied, any of them turns the answer around; only roles that the text names are changed, nothing else is."""
    subject, verb, resource, name, namespace = question
    answer = can(snapshot, subject, verb, resource, name=name, namespace=namespace or None)
    assert bool(answer.remedies) is not answer.allowed
    for remedy in answer.remedies:
        assert _asked(OverlaySnapshot(snapshot, put=remedy.objects), answer)
        assert [obj["kind"] for obj in yaml.safe_load_all(remedy.manifest)] == [obj["kind"] for obj in remedy.objects]
        replaced = [obj for obj in remedy.objects if _there(snapshot, obj)]
        assert len(replaced) <= (1 if remedy.text.startswith("add the rule") else 0)


def _there(snapshot: Snapshot, obj: Object) -> bool:
    key = key_of(obj, RESOURCES_OF_KINDS[obj["kind"]])
    return snapshot.get(key.resource, key.name, key.namespace) is not None


READERS = world(
    role("readers", rule("get", "pods")),
    binding("readers", "readers", "user:ann", "user:bob", namespace="dev"),
    binding("readers", "readers", "user:eve", namespace="ops"),
    binding("gone", "deleted", "user:cleo"),
)


@pytest.mark.parametrize(
    ("subject", "verb", "resource", "namespace", "first"),
    [
        ("ann", "get", "pods", "ops", "bind ClusterRole readers to user:ann in ops"),
        ("ann", "get", "pods", "", "bind ClusterRole readers to user:ann in the whole cluster"),
        ("ann", "list", "pods", "dev", "give user:ann a role that allows only list pods in dev"),
        ("cleo", "get", "nodes", "", "create ClusterRole deleted, which is already bound"),
        (
            "dora",
            "get",
            "nodes",
            "",
            "give user:dora a role that allows only get nodes in the whole cluster",
        ),
    ],
)
def test_the_first_remedy_concerns_nobody_else(
    subject: str, verb: str, resource: str, namespace: str, first: str
) -> None:
    """The remedy of the nearest miss comes first, unless others would gain by it."""
    answer = can(READERS, subject, verb, resource, namespace=namespace or None)
    assert answer.remedies[0].text == first
    assert f"to allow it: {first}" in str(answer)
    assert first in answer.remedies[0]._repr_html_()


def test_others_who_would_gain_are_counted() -> None:
    """A change of a role concerns everybody who has it; a name that is taken is not used again."""
    answer = can(READERS, "ann", "list", "pods", namespace="dev")
    changed = next(remedy for remedy in answer.remedies if remedy.others)
    assert str(changed) == "add the rule list pods to ClusterRole readers (2 other subjects would gain it too)"
    (bound,) = can(READERS, "ann", "get", "pods", namespace="ops").remedies[0].objects
    assert bound["metadata"] == {"name": "readers-2", "namespace": "ops"}
    assert can(READERS, "ann", "get", url="/metrics").remedies[0].objects[0]["rules"] == [
        {"verbs": ["get"], "nonResourceURLs": ["/metrics"]}
    ]


def test_a_wide_role_is_not_the_first_remedy() -> None:
    """If a near miss is a role with far more permissions than requested, a role of its own comes first."""
    plurals = ",".join(f"r{number}" for number in range(30))
    for rules, said in (
        (rule("*", "*", groups="*"), "far more than this"),
        (rule("get", f"pods,{plurals}"), "30 more"),
    ):
        snapshot = world(role("wide", rules), binding("b", "wide", "user:ann", namespace="dev"))
        first, second = can(snapshot, "ann", "get", "pods", namespace="ops").remedies
        assert first.text == "give user:ann a role that allows only get pods in ops"
        assert second.text == "bind ClusterRole wide to user:ann in ops"
        assert said in str(second)
