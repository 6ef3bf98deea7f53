"""Cuts: cheapest, keeping what is in use, and verified on forks."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
import yaml

from simkit.analysis.escalation import Cut, cut, escalations
from simkit.analysis.escalation.cut.removal import GoalHolders
from simkit.analysis.escalation.find.goal import parse_goal
from simkit.analysis.escalation.find.graph import EscalationGraph
from simkit.analysis.escalation.find.states import subject_state
from simkit.cluster.loading import load
from simkit.logic.rbac.binding import Subject
from simkit.meta import datasets
from tests.analysis.escalation.scenes import ATTACKER, RBAC, pod, scene, served
from tests.analysis.worlds import binding, role, rule, world
from tests.shared import SHARED, needs_shared

TOKENS = rule("create", "serviceaccounts/token")
ADMIN = binding("ops-admin", "cluster-admin", "sa:ops/admin")
EVERYTHING = role("cluster-admin", rule("*", "*", groups="*"), labels={"kubernetes.io/bootstrapping": "rbac-defaults"})


def event(user: str, verb: str, resource: str, place: str, name: str = "", **more: str) -> dict[str, Any]:
    """An audit event of an allowed request."""
    where, _, account_name = user.partition("/")
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{where}", "system:authenticated"]
    plural, _, subresource = resource.partition("/")
    return {
        "kind": "Event",
        "stage": "ResponseComplete",
        "verb": verb,
        "user": {"username": f"system:serviceaccount:{where}:{account_name}", "groups": groups},
        "objectRef": {"resource": plural, "subresource": subresource, "namespace": place, "name": name, **more},
        "responseStatus": {"code": 200},
        "annotations": {"authorization.k8s.io/decision": "allow"},
    }


def of(*objects: dict[str, Any], **more: Any) -> Cut:
    return cut(world(EVERYTHING, ADMIN, *objects), **more)


def changes(made: Cut) -> list[str]:
    return [str(one) for one in made.removals]


def test_the_least_access_is_taken() -> None:
    """One permission out of a rule rather than a whole binding, and the rest of the rule stays."""
    made = of(
        *scene(rule("create,delete", "serviceaccounts/token,pods"), rule("get", "pods"), place="ops"),
        goal="sa:ops/admin",
    )
    assert changes(made) == [
        "remove create pods from rule 0 of ClusterRole rules",
        "remove create serviceaccounts/token from rule 0 of ClusterRole rules",
    ]
    assert made.exact
    [changed] = made.manifests()
    assert changed["rules"] == [
        {"verbs": ["delete"], "apiGroups": [""], "resources": ["serviceaccounts/token", "pods"]},
        {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]},
    ]
    assert not escalations(made.after(), ATTACKER, goal="sa:ops/admin")


def test_one_change_where_many_paths_meet() -> None:
    """Many who can reach one account: the account's own right goes, if that is the least."""
    minters = [binding(f"mint-{number}", "minter", f"user:u{number}", namespace="ops") for number in range(9)]
    big = role("minter", rule("*", "*"))
    small = role("small", rule("list", "secrets", groups="core"))
    own = binding("small", "small", "sa:ops/admin")
    made = cut(world(*scene(), big, small, own, *minters), "list secrets in dev")
    assert changes(made) == ["remove list secrets from rule 0 of ClusterRole small"]


def test_wildcards_are_not_narrowed_and_defaults_not_touched() -> None:
    """A subject leaves the binding; the server's own roles and bindings stay as they are."""
    wide = [role("wide", rule("*", "*")), binding("wide", "wide", ATTACKER, namespace="ops")]
    made = of(*scene(), *wide)
    assert changes(made) == [f"remove {ATTACKER} from RoleBinding ops/wide"]
    assert [key.name for key in made.deletions()] == ["wide"]
    kept = binding("system:kept", "wide", ATTACKER, namespace="ops")
    kept["metadata"]["labels"] = {"kubernetes.io/bootstrapping": "rbac-defaults"}
    made = of(*scene(), wide[0], kept)
    assert changes(made) == ["remove sa:ops/admin from ClusterRoleBinding ops-admin"]


def test_aggregated_roles_are_narrowed_where_they_are_written() -> None:
    """The part that brings the permission, and not the whole that its controller fills."""
    part = role("part", rule("create", "pods"), rule("get", "pods"), labels={"to": "whole"})
    whole = {**role("whole"), "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"to": "whole"}}]}}
    bound = [binding(f"b{number}", "whole", f"user:u{number}", namespace="ops") for number in range(3)]
    made = cut(
        world(EVERYTHING, *scene(), part, {**whole, "rules": part["rules"]}, *bound, ADMIN), keep=["sa:ops/admin"]
    )
    assert changes(made) == ["remove create pods from rule 0 of ClusterRole part"]
    assert not escalations(made.after(), ["user:u0", "user:u1"], goal="cluster-admin")


def test_permissions_that_a_log_shows_in_use_stay() -> None:
    """The other end of the path is taken, or its holder is left with what it used."""
    objects = scene(TOKENS, place="ops")
    log = [event("dev/attacker", "create", "serviceaccounts/token", "ops", "admin")]
    made = of(*objects, audit_log=log)
    assert changes(made) == ["remove sa:ops/admin from ClusterRoleBinding ops-admin"]
    both = [*log, event("ops/admin", "list", "pods", "dev")]
    made = of(*objects, audit_log=both)
    assert changes(made) == ["reduce sa:ops/admin in ClusterRoleBinding ops-admin to what it has used"]
    new = [obj for obj in made.manifests() if obj["kind"] == "Role"]
    assert [(obj["metadata"]["namespace"], obj["rules"]) for obj in new] == [
        ("dev", [{"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}])
    ]
    cluster = served(*objects, ADMIN)
    verified = cut(cluster.snapshot(), audit_log=both).verify(cluster)
    assert verified
    assert verified.asked == 2


def test_members_who_use_a_groups_access_keep_it() -> None:
    """Of a group those members are named that the log shows; the others lose it."""
    grants = [role("minter", TOKENS), binding("mint", "minter", "group:system:serviceaccounts", namespace="ops")]
    log = [
        event("dev/other", "create", "serviceaccounts/token", "ops", "admin"),
        event("ops/admin", "get", "nodes", "", "node-1"),
        event("ops/admin", "create", "clusterrolebindings", "", apiGroup=RBAC),
    ]
    made = of(*scene(), *grants, audit_log=log, subject=[ATTACKER])
    assert not escalations(made.after(), ATTACKER, goal="cluster-admin")
    assert not made.left


def test_paths_that_no_change_closes_are_reported() -> None:
    """Both ends in use or kept: the path is left open, with its steps."""
    made = of(*scene(TOKENS, place="ops"), keep=[ATTACKER, "sa:ops/admin"])
    assert [path.subject for path in made.left] == [ATTACKER]
    assert made.removals == ()
    assert "left open: sa:dev/attacker: Requests tokens of service accounts (C5)" in str(made)


def test_subjects_and_direct_holders() -> None:
    """Only some subjects' paths; or also those who have the goal without a step."""
    objects = [*scene(TOKENS, place="ops"), role("minter", TOKENS), binding("m", "minter", "user:bob", namespace="ops")]
    assert changes(of(*objects, subject="user:bob")) == [
        "remove create serviceaccounts/token from rule 0 of ClusterRole minter"
    ]
    assert "remove sa:ops/admin from ClusterRoleBinding ops-admin" in changes(of(*objects, direct=True))
    assert of(*scene()).removals == ()


def test_a_cut_can_be_read_and_applied() -> None:
    """As a table, as YAML, as commands, and on a fork where closed paths do not go through any more."""
    objects = [*scene(TOKENS, rule("create", "pods"), place="ops"), pod("ops", "web", "admin")]
    objects[-1]["spec"]["containers"][0]["securityContext"] = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    objects[-1]["spec"]["securityContext"] = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    cluster = served(*objects[:-1], ADMIN)
    made = cut(cluster.snapshot())
    assert made.to_frame()["cost"].sum() == made.cost
    assert list(yaml.safe_load_all(made.yaml().partition("---\n")[2] or made.yaml()))
    assert all(command.startswith("kubectl ") for command in made.commands())
    verified = made.verify(cluster)
    assert verified
    assert verified.refused
    assert "the cut holds" in str(verified)
    assert "<ul>" in made._repr_html_()


def test_the_bundled_cluster_is_cut() -> None:
    """All its paths, at little cost, and the aggregated role at its part."""
    cluster = load(datasets.path("clusters/pellowick.json.gz"))
    made = cut(cluster.snapshot())
    assert made.exact
    assert any("pellowick:edit-sharing" in one for one in changes(made))
    assert not any("oidc:team-" in one for one in changes(made))
    assert made.verify(cluster)


@needs_shared
@pytest.mark.slow
def test_a_company_is_cut_without_what_its_log_shows() -> None:
    """Every path of every subject is closed, and each of the requests in the log is allowed as before."""
    cluster = load(SHARED / "datasets" / "operators-and-teams.json.gz")
    made = cut(cluster.snapshot(), audit_log=str(SHARED / "datasets" / "audit.jsonl.gz"))
    verified = made.verify(cluster)
    assert verified, str(verified)
    assert verified.asked > 1000
    assert not made.left


def test_logs_may_be_files(tmp_path: Any) -> None:
    """A path is read as ``least_privilege`` reads it."""
    path = tmp_path / "audit.jsonl"
    path.write_bytes(orjson.dumps(event("dev/attacker", "create", "serviceaccounts/token", "ops", "admin")))
    assert changes(of(*scene(TOKENS, place="ops"), audit_log=str(path))) == [
        "remove sa:ops/admin from ClusterRoleBinding ops-admin"
    ]


def test_an_end_that_is_only_impersonated_has_no_access_of_its_groups() -> None:
    """Impersonation of a user brings none of the groups of the table of members: no cut is asked to take theirs."""
    readers = role("reader", rule("get", "secrets"))
    group, user = binding("by-group", "reader", "group:devs"), binding("by-name", "reader", "user:ann")
    graph = EscalationGraph(world(readers, group, user), {"devs": ["ann"]})
    ends = GoalHolders(parse_goal("get secrets"), graph)
    bound = {
        worn: ends.requirements(subject_state(Subject("User", "ann"), impersonated=worn)) for worn in (False, True)
    }
    names = {
        worn: sorted(source.binding.name for _, known in needed for source in known) for worn, needed in bound.items()
    }
    assert names == {False: ["by-group", "by-name"], True: ["by-name"]}
