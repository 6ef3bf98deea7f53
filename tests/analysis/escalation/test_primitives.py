"""The table of primitives: complete, and all its words are known."""

from __future__ import annotations

import re

import pytest

from simkit.analysis import audit, escalations
from simkit.analysis.escalation.find.outcomes import OUTCOMES
from simkit.analysis.escalation.find.pod_specs import escapes_of
from simkit.analysis.escalation.find.primitive_conditions import CONDITIONS
from simkit.analysis.escalation.table.primitive import Primitive, primitives, requirements_of
from simkit.analysis.escalation.table.requirement import Permission, parse_requirements
from simkit.logic.rbac.rule import Rule
from simkit.meta.errors import SimkitError
from simkit.schema.catalogue import Catalogue
from simkit.snapshot.memory import MemorySnapshot
from tests.analysis.escalation.scenes import fenced, pod
from tests.analysis.worlds import account, binding, role, rule
from tests.shared import SHARED, needs_shared

ROWS = {"A": 14, "B": 7, "C": 11, "D": 19, "E": 9, "F": 5, "G": 12, "H": 8, "I": 10, "J": 10}
"""The least number of primitives in each group."""
AROUND = ("pod", "node", "outside", "cloud")
"""Classes whose conditions are read from pods and nodes, or never hold in a cluster."""
MADE_BY_CODE = ("workload", "privileged-workload")
EVERY = primitives().primitives


def test_every_row_is_there() -> None:
    """The primitives of each of the ten groups are numbered without gaps; none has been lost."""
    found = [one.id for one in EVERY]
    assert len(set(found)) == len(found)
    for group, first_count in ROWS.items():
        numbers = {int(one[1:]) for one in found if one[0] == group}
        assert numbers == set(range(1, max(numbers) + 1))
        assert len(numbers) >= first_count


@needs_shared
def test_every_row_of_the_union_is_there() -> None:
    """The table has every row that tools and papers know together."""
    text = (SHARED / "research" / "rbac-peers.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([A-J]\d+) \|", text, re.MULTILINE)
    assert set(rows) <= {one.id for one in EVERY}


@pytest.mark.parametrize("primitive", EVERY, ids=lambda one: one.id)
def test_a_row_is_executable_or_says_why_not(primitive: Primitive) -> None:
    """References, bodies, sequences, conditions and results are words that exist."""
    table = primitives()
    assert primitive.references
    assert set(primitive.references) <= set(table.sources)
    assert primitive.mitigation
    for way in primitive.variants:
        assert way.requires or way.condition or primitive.not_executable
        assert way.outcome in OUTCOMES or primitive.kind in AROUND
        assert way.condition in CONDITIONS or primitive.kind in AROUND
        for act in way.execute or ():
            assert act.use in ("", "requirements") or act.use in table.sequences
            assert not isinstance(act.body, str) or act.body in ("", *MADE_BY_CODE) or act.body in table.bodies
            assert act.because or act.by == "attacker", "what others do is named"


@pytest.mark.parametrize("release", ["1.16", "1.30", "1.37"])
def test_needs_can_be_read_at_every_release(release: str) -> None:
    """Also where the release lacks a resource."""
    for primitive in EVERY:
        for number in range(len(primitive.variants)):
            assert all(need.any_of for need in requirements_of(primitive.id, number, release))


def test_releases_limit_primitives() -> None:
    """A primitive of a later release does not count before that release."""
    late = primitives().primitive("G4")
    assert not late.holds_in("1.30")
    assert late.holds_in("1.32")


def test_an_unknown_primitive_is_an_error() -> None:
    """The message tells what ids look like."""
    with pytest.raises(SimkitError, match="A1 to K21"):
        primitives().primitive("Z9")


@pytest.mark.parametrize(("release", "paths"), [("1.30", 1), ("1.34", 1), ("1.35", 0), ("1.36", 0)])
def test_get_alone_opens_no_connection_in_later_releases(release: str, paths: int) -> None:
    """From 1.35 on the server asks for create too; create alone stays enough, as for clients that send a POST."""
    objects = [
        *(role("cluster-admin", rule("*", "*", groups="*")), binding("boss", "cluster-admin", "sa:ops/admin")),
        *(fenced("ops"), account("ops", "admin"), pod("ops", "boss-0", "admin")),
        *(role("looks", rule("get", "pods/exec,pods/attach")), binding("looks", "looks", "user:ann", namespace="ops")),
        *(role("runs", rule("create", "pods/exec")), binding("runs", "runs", "user:bob", namespace="ops")),
    ]
    snapshot = MemorySnapshot(objects, release, captured=["*"])
    assert len(escalations(snapshot, "user:ann", goal="cluster-admin")) == paths
    assert len(escalations(snapshot, "user:bob", goal="cluster-admin")) == 1
    found = [one for one in audit(snapshot).findings if one.check == "pod-exec"]
    assert len(found) == 1 + paths


def test_needs_of_one_request_belong_together() -> None:
    """Alternatives, names, places and labels are told apart."""
    catalogue = Catalogue.for_release("1.30")
    text = "update|patch clusterroles.rbac as role with escalate clusterroles.rbac [a,b] as role"
    first, second = parse_requirements((text,), {"rbac": "rbac.authorization.k8s.io"}, catalogue)
    assert (first.request, second.request) == (0, 0)
    assert [str(one.permission) for one in first.any_of] == [
        "update clusterroles.rbac.authorization.k8s.io",
        "patch clusterroles.rbac.authorization.k8s.io",
    ]
    assert all(one.cluster for one in first.any_of)
    assert (second.names, second.label) == (("a", "b"), "role")


@pytest.mark.parametrize(
    ("permission", "rule", "granted"),
    [
        (Permission("create", "", "pods"), Rule(("create",), ("",), ("pods",), ("web",)), False),
        (Permission("create", "", "pods/exec"), Rule(("create",), ("",), ("pods/exec",), ("web",)), True),
        (Permission("create", "", "pods/exec"), Rule(("create",), ("",), ("*/exec",)), True),
        (Permission("create", "", "pods/exec"), Rule(("create",), ("",), ("pods/*",)), False),
        (Permission("create", "apps", "deployments"), Rule(("create",), ("",), ("deployments",)), False),
        (Permission("*", "*", "*"), Rule(("get",), ("*",), ("*",)), False),
    ],
)
def test_rules_grant_as_the_authorizer_does(permission: Permission, rule: Rule, granted: bool) -> None:
    """Names do not help requests without one; ``pods/*`` is no wildcard; groups count."""
    assert permission.granted_by(rule) is granted


@pytest.mark.parametrize(
    ("spec", "primitive"),
    [
        ({"containers": [{"name": "c", "securityContext": {"privileged": True}}]}, "K1"),
        (
            {
                "hostPID": True,
                "containers": [{"name": "c", "securityContext": {"capabilities": {"add": ["SYS_PTRACE"]}}}],
            },
            "K2",
        ),
        (
            {
                "volumes": [{"name": "v", "hostPath": {"path": "/"}}],
                "containers": [{"name": "c", "volumeMounts": [{"name": "v", "readOnly": True}]}],
            },
            "K3",
        ),
        ({"initContainers": [{"name": "c", "securityContext": {"capabilities": {"add": ["CAP_SYS_ADMIN"]}}}]}, "K4"),
        (
            {
                "volumes": [{"name": "v", "hostPath": {"path": "/run/containerd/containerd.sock"}}],
                "containers": [{"name": "c", "volumeMounts": [{"name": "v"}]}],
            },
            "K14",
        ),
    ],
)
def test_pods_that_lead_to_their_node(spec: dict[str, object], primitive: str) -> None:
    """Each escape is found, with what allows it."""
    assert primitive in [one.primitive for one in escapes_of({"spec": spec})]


def test_harmless_pods_lead_nowhere() -> None:
    """A host path that nothing mounts, a log directory that is only read, a harmless capability."""
    spec = {
        "volumes": [{"name": "v", "hostPath": {"path": "/"}}, {"name": "w", "hostPath": {"path": "/var/log/app"}}],
        "containers": [
            {
                "name": "c",
                "volumeMounts": [{"name": "w", "readOnly": True}],
                "securityContext": {"capabilities": {"add": ["NET_BIND_SERVICE"]}},
            }
        ],
    }
    assert escapes_of({"spec": spec}) == ()
