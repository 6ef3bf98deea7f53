"""Minimal roles, what is unused, and the replay that shows that nothing in use is lost."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from simkit.analysis.least_privilege import (
    Action,
    Proposal,
    least_privilege,
    minimal_rules,
    read_access_requests,
    unused_grants,
    usage,
)
from simkit.analysis.least_privilege.roles import PermissionCounter
from simkit.cluster.cluster import Cluster
from simkit.cluster.loading import load
from simkit.cluster.options import Options
from simkit.logic.rbac.rule import Rule
from simkit.meta.errors import SimkitError
from simkit.meta.identity import service_account
from simkit.meta.message import Request
from tests.analysis.worlds import account, binding, namespace, role, rule, world
from tests.shared import SHARED, needs_shared

ROBOT = "system:serviceaccount:dev:robot"
GROUPS = ["system:serviceaccounts", "system:serviceaccounts:dev", "system:authenticated"]


def event(verb: str, resource: str, place: str = "dev", name: str = "", **more: Any) -> dict[str, Any]:
    """An audit event of the robot, allowed unless told otherwise."""
    plural, _, subresource = resource.partition("/")
    reference = {"resource": plural, "subresource": subresource, "namespace": place, "name": name}
    reference["apiGroup"] = more.pop("group", "")
    made = {
        "kind": "Event",
        "stage": "ResponseComplete",
        "verb": verb,
        "user": {"username": ROBOT, "groups": GROUPS},
        "objectRef": reference,
        "responseStatus": {"code": 200},
        "annotations": {"authorization.k8s.io/decision": "allow"},
    }
    return {**made, **more}


def denied(verb: str, resource: str, place: str = "dev") -> dict[str, Any]:
    return event(verb, resource, place, annotations={"authorization.k8s.io/decision": "forbid"})


SCENE = [
    *(namespace("dev"), namespace("ops"), account("dev", "robot")),
    role("wide", rule("*", "*", groups="*"), rule("get", urls="/metrics,/healthz/*")),
    role("pods", rule("get,list", "pods")),
    role("never", rule("delete", "nodes"), rule("get", "nodes")),
    *(binding("wide", "wide", "sa:dev/robot"), binding("never", "never", "sa:dev/robot", "user:ann")),
]
LOG = [
    *(event("list", "pods"), event("get", "pods", name="a"), event("get", "pods", name="b")),
    *(event("get", "configmaps", "ops", "settings"), event("get", "configmaps", "ops", "settings")),
    event("patch", "deployments/scale", "ops", "web", group="apps"),
    event("get", "", objectRef=None, requestURI="/metrics"),
    denied("delete", "secrets", "kube-system"),
]


def proposed(log: list[Any] = LOG, *objects: dict[str, Any], **more: Any) -> Proposal:
    return least_privilege(world(*SCENE, *objects), log, **more)


def test_requests_that_were_read_count_as_their_log_does() -> None:
    """Some of them too, as in a notebook that takes those of some subjects; without any there is no answer."""
    snapshot, read = world(*SCENE), list(read_access_requests(LOG))
    for given in (read, iter(read)):
        assert usage(snapshot, given).allowed == usage(snapshot, LOG).allowed
    assert proposed(read).rules == proposed(LOG).rules
    assert usage(snapshot, read[:2]).requests == (2, 0)
    with pytest.raises(SimkitError, match="no audit events"):
        usage(snapshot, read[:0])


def served(*objects: dict[str, Any]) -> Cluster:
    cluster = Cluster(seed=5)
    for obj in (*SCENE, *objects):
        cluster.apply([obj])
    return cluster


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("repeated", [Rule(("get",), ("",), ("secrets",), ("db",))]),
        ("always", [Rule(("get",), ("",), ("secrets",), ("db",))]),
        ("never", [Rule(("get",), ("",), ("secrets",))]),
    ],
)
def test_names_that_repeat_are_written_down(names: Any, expected: list[Rule]) -> None:
    """Those asked for more than once, or always, or never."""
    assert list(minimal_rules({Action("get", "", "secrets", "", "dev", "db"): 3}, names=names)) == expected


def test_rules_are_put_together() -> None:
    """The same verbs on several resources are one rule; names only where all requests have them."""
    used = {
        Action("list", "", "pods"): 1,
        Action("list", "", "services"): 1,
        Action("get", "", "pods", "", "", "a"): 1,
        Action("get", "", "pods", "", "", "b"): 1,
        Action("get", url="/metrics"): 2,
        Action("impersonate", "", "users", "", "", "bob"): 1,
    }
    assert list(minimal_rules(used)) == [
        Rule(("get", "list"), ("",), ("pods",)),
        Rule(("list",), ("",), ("services",)),
        Rule(("impersonate",), ("",), ("users",), ("bob",)),
        Rule(("get",), paths=("/metrics",)),
    ]


def test_a_wildcard_becomes_what_is_used() -> None:
    """By namespace, with names that repeat; the old bindings lose the subject."""
    made = proposed()
    rules = {place: [str(one) for one in some] for place, some in made.rules[made.subjects[0]].items()}
    assert rules == {
        "": ['{NonResourceURLs:["/metrics"], Verbs:["get"]}'],
        "dev": ['{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}'],
        "ops": [
            '{APIGroups:[""], Resources:["configmaps"], ResourceNames:["settings"], Verbs:["get"]}',
            '{APIGroups:["apps"], Resources:["deployments/scale"], Verbs:["patch"]}',
        ],
    }
    assert [key.name for key in made.deletions()] == ["wide"]
    [never] = [obj for obj in made.manifests() if obj["metadata"]["name"] == "never"]
    assert [entry["name"] for entry in never["subjects"]] == ["ann"]


def test_roles_that_fit_are_used_again() -> None:
    """The role that allows just this is bound, and no new one made; unless one does not want that."""
    made = proposed()
    assert [key.name for key in made.reused[made.subjects[0]]] == ["pods"]
    names = [obj["metadata"]["name"] for obj in made.manifests()]
    assert "least-privilege:dev:robot:pods" in names
    assert not proposed(reuse=False).reused
    bound = binding("mine", "pods", "sa:dev/robot", namespace="dev")
    kept = proposed(LOG, bound)
    assert "least-privilege:dev:robot:pods" not in [obj["metadata"]["name"] for obj in kept.manifests()]
    assert "mine" not in [key.name for key in kept.deletions()]


def test_the_replay_finds_nothing_lost() -> None:
    """On a fork all that was allowed still is, what was denied is not, and the rest is gone."""
    cluster = served()
    before = cluster.snapshot()
    made = least_privilege(before, LOG)
    replayed = made.verify(cluster)
    assert replayed
    assert (len(replayed.broken), len(replayed.opened), len(replayed.left)) == (0, 0, 0)
    assert replayed.taken > 3
    assert "all of them are still allowed" in str(replayed)
    assert replayed.to_frame().empty
    assert cluster.snapshot() is before


def test_the_replay_finds_what_is_lost() -> None:
    """A proposal out of a shorter log breaks what the longer one shows."""
    cluster = served()
    short = least_privilege(cluster.snapshot(), LOG[:3])
    longer = Proposal(
        *(short.snapshot, usage(cluster.snapshot(), LOG), short.subjects, short.rules, short.reused, short.changes)
    )
    replayed = longer.verify(cluster)
    assert not replayed
    assert {str(action) for _, action in replayed.broken} == {
        "get configmaps 'settings' in ops",
        "patch deployments/scale.apps 'web' in ops",
        "get /metrics",
    }
    assert set(replayed.to_frame()["outcome"]) == {"broken"}


def test_a_refused_proposal_is_an_error() -> None:
    """A server without the namespace refuses the role."""
    made = proposed()
    with pytest.raises(SimkitError, match="was refused"):
        made.verify(Cluster())


def test_unused_permissions() -> None:
    """A binding, a rule, a part of a rule, and what a wildcard is used for."""
    snapshot = world(
        *SCENE, role("half", rule("get,watch", "pods"), rule("get", "events")), binding("h", "half", "sa:dev/robot")
    )
    table = unused_grants(snapshot, usage(snapshot, LOG))
    verdicts = {(row["binding"], row["subject"], row["rule"]): row["verdict"] for row in table.to_dict("records")}
    assert verdicts["wide", "sa:dev/robot", 0] == "wildcard"
    assert verdicts["wide", "sa:dev/robot", 1] == "unused part"
    assert verdicts["never", "sa:dev/robot", 0] == "unused grant"
    assert verdicts["never", "user:ann", 1] == "unused grant"
    assert verdicts["h", "sa:dev/robot", 0] == "unused part"
    assert verdicts["h", "sa:dev/robot", 1] == "unused rule"
    [half] = [row for row in table.to_dict("records") if (row["binding"], row["rule"]) == ("h", 0)]
    assert half["unused"] == ("watch pods",)


def test_access_is_put_down_to_who_is_bound() -> None:
    """To the group, where only the group is bound; defaults of the server are left alone."""
    grants = [binding("all", "pods", "group:system:serviceaccounts:dev", namespace="dev")]
    snapshot = world(*SCENE[:5], *grants)
    used = usage(snapshot, LOG[:3])
    assert [subject.name for subject in used.by_subject] == ["system:serviceaccounts:dev"]
    assert used.to_frame()["times"].sum() == 3
    assert least_privilege(snapshot, LOG[:3]).subjects == ()
    assert len(least_privilege(snapshot, LOG[:3], ["group:system:serviceaccounts:dev"]).subjects) == 1
    kept = [
        {**grants[0], "metadata": {**grants[0]["metadata"], "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}}}
    ]
    assert usage(world(*SCENE[:5], *kept), LOG[:3]).by_subject == {}
    assert len(usage(world(*SCENE[:5]), LOG[:3]).ungranted) == 3


def test_writes_of_bindings_need_bind() -> None:
    """Further checks of the server are found in the body of the request, and granted by name."""
    group = "rbac.authorization.k8s.io"
    binder = role("binder", rule("create", "rolebindings", groups=group), rule("bind", "clusterroles", groups=group))
    body = {"roleRef": {"kind": "ClusterRole", "name": "pods"}}
    log = [event("create", "rolebindings", "dev", group=group, requestObject=body)]
    snapshot = world(*SCENE[:3], SCENE[4], binder, binding("binder", "binder", "sa:dev/robot"))
    made = least_privilege(snapshot, log)
    [rules] = made.rules[made.subjects[0]].values()
    assert Rule(("bind",), (group,), ("clusterroles",), ("pods",)) in rules


def test_a_proposal_can_be_read() -> None:
    """As a table, as YAML that can be applied, as HTML."""
    made = proposed()
    row = made.to_frame().iloc[0]
    assert (row["subject"], row["after"]) == ("sa:dev/robot", 5)
    assert row["before"] > 0
    text = made.yaml()
    assert "# kubectl delete clusterrolebindings wide" in text
    assert {obj["kind"] for obj in yaml.safe_load_all(text) if obj} >= {"Role", "RoleBinding", "ClusterRole"}
    assert "<ul>" in made._repr_html_()
    assert "8 different" in str(made.usage) or "allowed requests" in str(made.usage)


@pytest.mark.slow
@needs_shared
def test_a_real_log_is_replayed_without_loss() -> None:
    """Of every subject that the log shows: all it did is still allowed, and much else is not."""
    cluster = load(SHARED / "datasets" / "operators-and-teams.json.gz")
    made = least_privilege(cluster.snapshot(), str(SHARED / "datasets" / "audit.jsonl.gz"))
    assert len(made.subjects) >= 10
    assert not made.usage.ungranted
    replayed = made.verify(cluster)
    assert replayed, str(replayed)
    assert replayed.asked > 1000
    assert replayed.taken > 100


def test_traffic_of_a_server_of_ones_own_is_a_log() -> None:
    """Requests on a cluster that records are proposed, and other permissions are taken away."""
    cluster = Cluster(options=Options(seed=5, audit_policy="Metadata"))
    for obj in SCENE:
        cluster.apply([obj])
    robot = service_account("dev", "robot")
    assert cluster.perform(Request.of("GET", "/api/v1/namespaces/dev/pods"), identity=robot).status == 200
    assert cluster.perform(Request.of("GET", "/api/v1/namespaces/dev/pods/gone"), identity=robot).status == 404
    made = least_privilege(cluster.snapshot(), cluster.audit_log(), ["sa:dev/robot"])
    [subject] = made.subjects
    assert {place: [str(one) for one in rules] for place, rules in made.rules[subject].items()} == {
        "dev": ['{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}']
    }
    assert made.verify(cluster)


def test_permissions_are_counted_in_every_namespace() -> None:
    """A wildcard counts for all that it stands for, a grant in the cluster for each namespace."""
    snapshot = world(namespace("dev"), namespace("ops"))
    amounts = PermissionCounter(snapshot)
    pods = Rule(("get", "list"), ("",), ("pods",))
    assert (amounts.of([pods], "dev"), amounts.of([pods], "")) == (2, 4)
    assert amounts.of([Rule(("get",), ("",), ("nodes",))], "") == 1
    assert amounts.of([Rule(("get",), ("",), ("pods",), ("a", "b"))], "dev") == 2
    assert amounts.of([Rule(("get",), ("x.example",), ("things",))], "") == 2
    assert amounts.of([Rule(("get",), paths=("/metrics", "/healthz"))], "") == 2
    assert amounts.of([Rule(("*",), ("",), ("pods",))], "dev") == 8
    assert amounts.of([Rule(("get",), ("*",), ("*/scale",))], "dev") == 4
    assert amounts.of([Rule(("*",), ("*",), ("*",))], "") > 600


def test_a_role_that_is_used_in_full_stays() -> None:
    """Further actions get a role of their own; a role that is used in part goes."""
    objects = [
        *(namespace("dev"), account("dev", "robot")),
        *(role("pods", rule("get,list", "pods")), role("more", rule("get,delete", "configmaps"))),
        binding("pods", "pods", "sa:dev/robot", namespace="dev"),
        binding("more", "more", "sa:dev/robot", namespace="dev"),
    ]
    log = [
        event("list", "pods"),
        *(event("get", "pods", name=one) for one in "ab"),
        event("get", "configmaps", name="c"),
    ]
    made = least_privilege(world(*objects), log)
    [row] = made.to_frame().to_dict("records")
    assert row["reused"] == ("pods",)
    assert [key.name for key in made.deletions()] == ["more"]
    [new] = [obj for obj in made.manifests() if obj["kind"] == "Role"]
    assert new["rules"] == [{"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]}]
    cluster = Cluster(seed=1)
    for obj in objects:
        cluster.apply([obj])
    replayed = least_privilege(cluster.snapshot(), log, ["sa:dev/robot"]).verify(cluster)
    assert replayed
    assert not replayed.left
