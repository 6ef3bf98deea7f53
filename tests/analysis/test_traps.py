"""The sixteen rules of the authorizer that tools get wrong, S1 to S16, one test each."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.analysis.access.can import can
from simkit.analysis.access.permissions import permissions
from simkit.analysis.access.who_can import who_can
from simkit.analysis.findings import audit
from tests.analysis.worlds import binding, role, rule, world

RBAC = "rbac.authorization.k8s.io"


def may(
    rules: list[dict[str, Any]], verb: str, what: str = "", *, where: str = "", bound: str = "", **more: Any
) -> bool:
    """True if ann may do something with these rules, bound in a namespace or everywhere; who_can agrees."""
    snapshot = world(role("r", *rules), binding("b", "r", "user:ann", namespace=bound))
    allowed = bool(can(snapshot, "ann", verb, what, namespace=where or None, **more))
    listed = who_can(snapshot, verb, what, namespace=where or None, **more)
    assert ("user:ann" in set(listed["subject"])) is allowed
    return allowed


@pytest.mark.parametrize(
    ("name", "allowed", "rules", "question"),
    [
        ("S1 */exec is any exec", True, [rule("create", "*/exec")], ("create", "pods/exec")),
        ("S1 pods/* is nothing", False, [rule("create", "pods/*")], ("create", "pods/exec")),
        ("S1 pods is not pods/exec", False, [rule("create", "pods")], ("create", "pods/exec")),
        ("S4 groups must match", False, [rule("get", "secrets", groups="example.com")], ("get", "secrets")),
        ("S4 the wildcard group matches", True, [rule("get", "secrets", groups="*")], ("get", "secrets")),
        ("S5 a wildcard verb is every verb", True, [rule("*", "secrets")], ("escalate", "secrets")),
        ("S5 a wildcard resource is every resource", True, [rule("get", "*")], ("get", "secrets")),
        ("S15 controllers live in apps", True, [rule("create", "deployments", groups="apps")], ("create", "deploy")),
        ("S15 and not in the core group", False, [rule("create", "deployments")], ("create", "deploy")),
        ("S16 tokens are asked in the core group", True, [rule("create", "serviceaccounts/token")], ("create", "serviceaccounts/token")),
        ("S16 evictions too", True, [rule("create", "pods/eviction")], ("create", "pods/eviction")),
        ("S16 and in no other", False, [rule("create", "pods/eviction", groups="policy")], ("create", "pods/eviction")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_rules_match_as_they_are_written(
    name: str, allowed: bool, rules: list[dict[str, Any]], question: tuple[str, str]
) -> None:
    """S1, S4, S5, S15, S16: what a rule names, in which group."""
    assert may(rules, *question) is allowed, name


def test_s2_urls_match_exactly_by_star_or_by_their_beginning() -> None:
    """A star stands alone or at the end, and nowhere else."""
    for pattern, path, allowed in (
        ("/healthz", "/healthz", True),
        ("/healthz", "/healthz/etcd", False),
        ("/healthz/*", "/healthz/etcd", True),
        ("*", "/metrics", True),
        ("/api/*/nodes", "/api/v1/nodes", False),
    ):
        assert may([rule("get", urls=pattern)], "get", url=path) is allowed, (pattern, path)


def test_s3_a_role_binding_gives_no_urls_and_nothing_of_the_cluster_but_its_namespace() -> None:
    """Reading, changing and deleting the namespace object itself is given by a binding in it."""
    assert not may([rule("get", urls="*")], "get", url="/metrics", bound="dev")
    assert not may([rule("get", "nodes")], "get", "nodes", bound="dev", where="dev")
    for verb, allowed in (
        ("get", True),
        ("update", True),
        ("patch", True),
        ("delete", True),
        ("list", False),
        ("create", False),
    ):
        name = "dev" if allowed else ""
        assert may([rule("*", "namespaces")], verb, "namespaces", bound="dev", name=name) is allowed, verb
    assert not may([rule("*", "namespaces")], "get", "namespaces", bound="dev", name="ops")


def test_s6_names_count_for_requests_that_name_an_object() -> None:
    """A create or a delete of all names nothing; a list that selects one name does; subresources do."""
    limited = [rule("*", "secrets,pods/exec", names="db")]
    assert not may(limited, "create", "secrets")
    assert not may(limited, "deletecollection", "secrets")
    assert not may(limited, "list", "secrets")
    assert may(limited, "list", "secrets", name="db")
    assert may(limited, "watch", "secrets", name="db")
    assert may(limited, "create", "pods/exec", name="db")
    assert not may(limited, "create", "pods/exec", name="web")


def test_s7_masters_need_no_binding() -> None:
    """The group may do everything, and is in every answer."""
    assert can(world(), "group:system:masters", "delete", "nodes")
    assert list(who_can(world(), "delete", "nodes")["subject"]) == ["group:system:masters"]


@pytest.mark.parametrize(
    ("subject", "group"),
    [
        ("sa:dev/app", "system:serviceaccounts"),
        ("sa:dev/app", "system:serviceaccounts:dev"),
        ("sa:dev/app", "system:authenticated"),
        ("user:ann", "system:authenticated"),
        ("user:system:anonymous", "system:unauthenticated"),
    ],
)
def test_s8_groups_are_implied(subject: str, group: str) -> None:
    """A binding of a group counts for its members, though no binding names them."""
    snapshot = world(role("r", rule("get", "pods")), binding("b", "r", f"group:{group}"))
    assert can(snapshot, subject, "get", "pods")
    assert not can(snapshot, "user:system:anonymous" if subject != "user:system:anonymous" else "ann", "get", "pods")


def test_s9_aggregated_roles_of_manifests_are_filled() -> None:
    """Rules that the controller would collect count in manifests; of a dump, the stored rules count."""
    label = {"example.com/aggregate": "true"}
    whole = {**role("whole"), "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": label}]}, "rules": None}
    objects = (whole, role("part", rule("get", "pods"), labels=label), binding("b", "whole", "user:ann"))
    assert not can(world(*objects), "ann", "get", "pods")
    assert can(simkit.load(objects, manifests=True).snapshot(), "ann", "get", "pods")


def test_s10_anywhere_includes_role_bindings() -> None:
    """A question about any namespace finds grants in single ones; one about all at once does not."""
    snapshot = world(role("r", rule("get", "pods")), binding("b", "r", "user:ann", namespace="dev"))
    assert "user:ann" in set(who_can(snapshot, "get", "pods")["subject"])
    assert "user:ann" not in set(who_can(snapshot, "get", "pods", namespace="*")["subject"])


@pytest.mark.parametrize(
    ("verb", "word", "group"),
    [
        ("bind", "clusterroles", RBAC),
        ("escalate", "roles", RBAC),
        ("impersonate", "users", "core"),
        ("impersonate", "groups", "core"),
        ("impersonate", "serviceaccounts", "core"),
        ("impersonate", "uids", "authentication.k8s.io"),
        ("impersonate", "userextras/scopes", "authentication.k8s.io"),
        ("approve", "signers", "certificates.k8s.io"),
        ("sign", "signers", "certificates.k8s.io"),
        ("attest", "signers", "certificates.k8s.io"),
        ("use", "priorityclasses", "scheduling.k8s.io"),
    ],
)
def test_s11_verbs_and_resources_that_nothing_serves(verb: str, word: str, group: str) -> None:
    """They can be asked about like any other."""
    assert may([rule(verb, word, groups=group)], verb, word)


def test_s12_bind_is_asked_of_roles() -> None:
    """Bind of bindings gives nothing."""
    rules = [rule("bind", "rolebindings,clusterrolebindings", groups=RBAC)]
    assert not may(rules, "bind", "clusterroles")
    found = audit(world(role("r", *rules), binding("b", "r", "user:ann"))).findings
    assert "rbac-bind" not in {finding.check for finding in found}


def test_s13_rights_add_up_over_bindings_and_groups() -> None:
    """Rules of several bindings of a subject add up."""
    snapshot = world(
        *(role(name, rule(name, "pods")) for name in ("get", "list")),
        binding("one", "get", "user:ann"),
        binding("two", "list", "group:devs"),
    )
    scopes = permissions(snapshot, "ann", members={"devs": ["ann"]})
    assert set(scopes["role"]) == {"get", "list"}
    assert can(snapshot, "ann", "list", "pods", groups=("devs",))


def test_s14_writing_bindings_is_no_right_to_bind() -> None:
    """Without bind the server lets nobody hand out more than they hold: no escalation is claimed."""
    checks = {
        finding.check
        for finding in audit(
            world(role("r", rule("create", "clusterrolebindings", groups=RBAC)), binding("b", "r", "user:ann"))
        ).findings
    }
    assert checks == {"rbac-write"}
