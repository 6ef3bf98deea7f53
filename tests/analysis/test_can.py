"""Can: a decision that explains itself."""

from __future__ import annotations

import gzip

import orjson
import pytest

from simkit.analysis.can import can
from simkit.analysis.nearmiss import Kind
from simkit.meta.attributes import Verdict
from simkit.snapshot.memory import MemorySnapshot
from tests.analysis.worlds import binding, role, rule, world
from tests.shared import SHARED, needs_shared

READERS = world(
    role("readers", rule("get", "pods"), rule("get", "secrets", names="db"), rule("get", "pods/log")),
    binding("readers", "readers", "user:ann", namespace="dev"),
    binding("wide", "readers", "group:devs"),
    binding("gone", "deleted", "user:bob"),
)


def test_a_yes_has_its_evidence() -> None:
    """A yes names binding, role and rule, has the real server's reason, and is true."""
    answer = can(READERS, "ann", "get", "po", namespace="dev")
    assert answer
    assert answer.verdict is Verdict.ALLOW
    assert answer.reason == 'RBAC: allowed by RoleBinding "readers/dev" of ClusterRole "readers" to User "ann"'
    assert str(answer).splitlines() == [
        "yes  user:ann: get pods in dev",
        "  RoleBinding dev/readers gives ClusterRole readers",
        "  rule 0: get pods",
    ]
    assert "RoleBinding dev/readers" in answer._repr_html_()


@pytest.mark.parametrize(
    ("subject", "question", "kind", "words"),
    [
        ("ann", ("get", "pods", "", "ops"), Kind.NAMESPACE, "names user:ann for ClusterRole readers, but only in dev"),
        ("ann", ("get", "pods", "", ""), Kind.NAMESPACE, "but only in dev, not in all namespaces"),
        ("ann", ("get", "secrets", "web", "dev"), Kind.NAME, "holds only for the names db"),
        ("ann", ("get", "secrets", "", "dev"), Kind.NAME, "a get without a name asks for all"),
        ("ann", ("delete", "pods", "", "dev"), Kind.VERB, "allows get and not delete"),
        ("ann", ("get", "pods/exec", "", "dev"), Kind.SUBRESOURCE, "does not include pods/exec"),
        ("group:devs", ("get", "pods.metrics.k8s.io", "", ""), Kind.GROUP, "is about the API group ''"),
        ("bob", ("get", "pods", "", "dev"), Kind.MISSING_ROLE, "but there is no such role"),
    ],
)
def test_a_no_tells_what_came_near(subject: str, question: tuple[str, str, str, str], kind: Kind, words: str) -> None:
    """The nearest grant of a refusal is told with the one thing in which it differs."""
    verb, resource, name, namespace = question
    plural, _, group = resource.partition(".")
    answer = can(READERS, subject, verb, plural, name=name, namespace=namespace, group=group or None)
    if "/" in plural:
        answer = can(READERS, subject, verb, plural, name=name, namespace=namespace)
    assert not answer
    assert answer.near_misses[0].kind is kind
    assert words in str(answer.near_misses[0])
    assert words in str(answer)


def test_grants_that_can_never_count_are_told() -> None:
    """A RoleBinding to a rule about nodes or URLs is near, and the explanation says why it is dead."""
    snapshot = world(
        role("r", rule("get", "nodes"), rule("get", urls="/metrics")), binding("b", "r", "user:ann", namespace="dev")
    )
    assert "nodes belong to no namespace" in str(can(snapshot, "ann", "get", "nodes"))
    assert "URLs can only be granted by a ClusterRoleBinding" in str(can(snapshot, "ann", "get", url="/metrics"))


def test_nothing_near_is_said_too() -> None:
    """A refusal without anything near says so."""
    assert "has anything to do with this" in str(can(READERS, "carol", "get", "nodes"))


def test_groups_of_a_user() -> None:
    """Groups count whether they are given by name or in a table of members, and both show in near misses."""
    assert not can(READERS, "carol", "get", "pods")
    assert can(READERS, "carol", "get", "pods", groups=("devs",))
    assert can(READERS, "carol", "get", "pods", members={"devs": ["carol"]})
    assert can(READERS, "carol", "delete", "pods", groups=("devs",)).near_misses[0].kind is Kind.VERB


def test_masters_may_do_everything() -> None:
    """Members of system:masters are allowed without a reason, as the real server does it."""
    answer = can(world(), "ann", "delete", "nodes", groups=("system:masters",))
    assert answer
    assert (answer.reason, answer.evidence) == ("", ())
    assert "without a binding" in str(answer)


@needs_shared
def test_the_recorded_answers_of_a_real_server() -> None:
    """On a cluster of 2,920 objects, ``can`` says what the real server said to recorded questions."""
    listed = orjson.loads(gzip.decompress((SHARED / "datasets/operators-and-teams.json.gz").read_bytes()))["items"]
    snapshot = MemorySnapshot(listed, captured=["*"])
    lines = gzip.decompress((SHARED / "datasets/operators-and-teams-answers.jsonl.gz").read_bytes()).splitlines()
    compared = 0
    for line in lines:
        record = orjson.loads(line)
        spec, asked = record["spec"], record["spec"].get("resourceAttributes")
        groups = set(spec.get("groups", ()))
        if asked is None or not spec.get("user"):
            continue
        answer = can(
            snapshot,
            f"user:{spec['user']}",
            asked.get("verb", ""),
            f"{asked.get('resource', '')}",
            subresource=asked.get("subresource", ""),
            name=asked.get("name", ""),
            namespace=asked.get("namespace", ""),
            group=asked.get("group", ""),
            groups=tuple(spec.get("groups", ())),
        )
        same_place = answer.ask.namespace == asked.get("namespace", "")
        if same_place and set(answer.ask.identity.groups) == groups:
            assert answer.allowed is record["status"]["allowed"], spec
            compared += 1
    assert compared > 400
