"""Can: a decision that explains itself."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from typing import Any

import orjson
import pytest

from simkit.analysis.access.can import can
from simkit.analysis.access.matrix import access_matrix
from simkit.analysis.access.near_misses import Difference
from simkit.analysis.access.permissions import permissions
from simkit.analysis.access.who_can import who_can
from simkit.analysis.rbac.subject import parse_subject
from simkit.meta.attributes import Verdict
from simkit.meta.identity import Identity
from simkit.snapshot.memory import MemorySnapshot
from tests.analysis.worlds import binding, role, rule, world
from tests.conformance.recordings import access_worlds, fresh_cluster
from tests.shared import SHARED, needs_shared

pytestmark = pytest.mark.slow

READERS = world(
    role("readers", rule("get", "pods"), rule("get", "secrets", names="db"), rule("get", "pods/log")),
    binding("readers", "readers", "user:ann", namespace="dev"),
    binding("wide", "readers", "group:devs"),
    binding("gone", "deleted", "user:bob"),
)


def test_a_yes_has_its_evidence() -> None:
    """A yes names binding, role and rule, has kube-apiserver's reason, and is true."""
    answer = can(READERS, "ann", "get", "po", namespace="dev")
    assert answer
    assert answer.verdict is Verdict.ALLOW
    assert answer.reason == 'RBAC: allowed by RoleBinding "readers/dev" of ClusterRole "readers" to User "ann"'
    assert str(answer).splitlines() == [
        "yes  user:ann: get pods in dev",
        "  RoleBinding dev/readers grants ClusterRole readers",
        "  rule 0: get pods",
    ]
    assert "RoleBinding dev/readers" in answer._repr_html_()


@pytest.mark.parametrize(
    ("subject", "question", "kind", "words"),
    [
        (
            "ann",
            ("get", "pods", "", "ops"),
            Difference.NAMESPACE,
            "grants ClusterRole readers to user:ann, but only in dev",
        ),
        ("ann", ("get", "pods", "", ""), Difference.NAMESPACE, "but only in dev, not in all namespaces"),
        ("ann", ("get", "secrets", "web", "dev"), Difference.NAME, "is limited to the names db"),
        ("ann", ("get", "secrets", "", "dev"), Difference.NAME, "a get without a name asks for all"),
        ("ann", ("delete", "pods", "", "dev"), Difference.VERB, "allows get, not delete"),
        ("ann", ("get", "pods/exec", "", "dev"), Difference.SUBRESOURCE, "does not include pods/exec"),
        ("group:devs", ("get", "pods.metrics.k8s.io", "", ""), Difference.GROUP, "names the API group ''"),
        ("bob", ("get", "pods", "", "dev"), Difference.MISSING_ROLE, "but the role does not exist"),
    ],
)
def test_a_no_tells_what_came_near(
    subject: str, question: tuple[str, str, str, str], kind: Difference, words: str
) -> None:
    """The nearest grant of a refusal is told with the one thing in which it differs."""
    verb, resource, name, namespace = question
    plural, _, group = resource.partition(".")
    answer = can(READERS, subject, verb, plural, name=name, namespace=namespace or None, api_group=group or None)
    if "/" in plural:
        answer = can(READERS, subject, verb, plural, name=name, namespace=namespace or None)
    assert not answer
    assert answer.near_misses[0].kind is kind
    assert words in str(answer.near_misses[0])
    assert words in str(answer)


def test_grants_that_can_never_count_are_told() -> None:
    """A RoleBinding to a rule about nodes or URLs is near, and the explanation says why it is dead."""
    snapshot = world(
        role("r", rule("get", "nodes"), rule("get", urls="/metrics")), binding("b", "r", "user:ann", namespace="dev")
    )
    assert "nodes are cluster-scoped" in str(can(snapshot, "ann", "get", "nodes"))
    assert "only a ClusterRoleBinding can grant access to URLs" in str(can(snapshot, "ann", "get", url="/metrics"))


def test_the_absence_of_near_misses_is_reported() -> None:
    """A refusal without anything near says so."""
    assert "no binding grants this" in str(can(READERS, "carol", "get", "nodes"))


def test_groups_of_a_user() -> None:
    """Groups count whether they are given by name or in a table of members, and both show in near misses."""
    assert not can(READERS, "carol", "get", "pods")
    assert can(READERS, "carol", "get", "pods", groups=("devs",))
    assert can(READERS, "carol", "get", "pods", members={"devs": ["carol"]})
    assert can(READERS, "carol", "delete", "pods", groups=("devs",)).near_misses[0].kind is Difference.VERB


def test_masters_may_do_everything() -> None:
    """Members of system:masters are allowed without a reason, as kube-apiserver does it."""
    answer = can(world(), "ann", "delete", "nodes", groups=("system:masters",))
    assert answer
    assert (answer.reason, answer.evidence) == ("", ())
    assert "without a binding" in str(answer)


Question = tuple[MemorySnapshot, dict[str, Any]]


def about_the_big_cluster() -> Iterator[Question]:
    """The recorded questions about a cluster of 2,920 objects."""

    def read(name: str) -> bytes:
        return gzip.decompress((SHARED / "datasets" / name).read_bytes())

    big = MemorySnapshot(orjson.loads(read("operators-and-teams.json.gz"))["items"], captured=["*"])
    yield from ((big, orjson.loads(line)) for line in read("operators-and-teams-answers.jsonl.gz").splitlines())


def about_small_worlds() -> Iterator[Question]:
    """The recorded questions about 36 small worlds."""
    for found in access_worlds():
        objects = [*fresh_cluster(), *found["world"]["objects"]]  # those of the world replace the server's own
        keyed = {(obj["kind"], obj["metadata"].get("namespace"), obj["metadata"]["name"]): obj for obj in objects}
        world = MemorySnapshot(list(keyed.values()), captured=["*"])
        yield from ((world, question) for question in found["questions"] if "error" not in question)


def test_recorded_answers_about_small_worlds() -> None:
    """``can`` and ``who_can`` answer every recorded question about resources as kube-apiserver did."""
    assert agreeing(about_small_worlds()) > 3_300


@needs_shared
def test_recorded_answers_about_the_big_cluster() -> None:
    """The same holds in a cluster with 25 installed products."""
    assert agreeing(about_the_big_cluster()) > 1_000


def agreeing(questions: Iterable[Question]) -> int:
    """The number of questions about resources, all of which are answered as recorded."""
    compared = 0
    for snapshot, record in questions:
        spec, asked = record["spec"], record["spec"].get("resourceAttributes")
        if asked is None:
            continue
        who = Identity(spec.get("user", ""), tuple(spec.get("groups", ())))
        words = (asked.get("verb", ""), asked.get("resource", ""))
        more = {part: asked.get(part, "") for part in ("subresource", "name")}
        more |= {"api_group": asked.get("group", ""), "namespace": asked.get("namespace") or "*"}
        assert can(snapshot, who, *words, **more).allowed is record["status"]["allowed"], spec
        rows = who_can(snapshot, *words, **more)
        named = {parse_subject(text).principal for text in rows["subject"]}
        mine = {("User", who.user), *(("Group", group) for group in who.groups)}
        assert bool(named & mine) is record["status"]["allowed"], spec
        compared += 1
    return compared


def test_bind_is_asked_where_the_binding_is() -> None:
    """A RoleBinding can give bind of a cluster role, for bindings in its namespace; nodes it cannot give."""
    rbac = "rbac.authorization.k8s.io"
    rules = [rule("bind", "clusterroles", groups=rbac), rule("get", "nodes")]
    snapshot = world(role("r", *rules), binding("b", "r", "user:ann", namespace="dev"))
    assert can(snapshot, "ann", "bind", "clusterroles", namespace="dev")
    assert not can(snapshot, "ann", "bind", "clusterroles", namespace="ops")
    assert not can(snapshot, "ann", "get", "nodes", namespace="dev")
    assert "user:ann" in set(who_can(snapshot, "bind", "clusterroles")["subject"])
    assert "user:ann" not in set(who_can(snapshot, "get", "nodes", namespace="dev")["subject"])
    assert can(snapshot, "ann", "get", "nodes", api_group="", namespace="dev"), "asked as it is written, as reviews are"
    assert list(permissions(snapshot, "ann")["effective"]) == [True, False]
    assert access_matrix(snapshot, "ann", resources=["clusterroles"], verbs=["bind"])["namespace"].tolist() == ["dev"]


def test_an_identity_has_its_own_groups_only() -> None:
    """An identity gets no further groups, and near misses are looked for in its groups."""
    snapshot = world(role("r", rule("get", "pods")), binding("b", "r", "group:system:authenticated", namespace="dev"))
    assert can(snapshot, "ann", "get", "pods", namespace="dev")
    assert not can(snapshot, Identity("ann"), "get", "pods", namespace="dev")
    asked = can(snapshot, Identity("ann", groups=("system:authenticated",)), "get", "pods", namespace="ops")
    assert "but only in dev" in str(asked)
    assert can(snapshot, Identity("", groups=("system:authenticated",)), "get", "pods", namespace="dev")
