"""The escalation check: a writer grants no more than it holds, with the wording of kube-apiserver."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from simkit.cluster.cluster import Cluster
from simkit.engine.authz.rbac import RBACAuthorizer, RBACEscalationGuard
from simkit.logic.authorizers.union import PrivilegedGroups, UnionAuthorizer
from simkit.logic.rbac.index import AccessIndex
from simkit.meta.errors import StatusError
from simkit.meta.identity import Identity, administrator
from simkit.meta.message import Request
from simkit.meta.objects import Object
from tests.logic.rbac.worlds import World, binding, recorded_objects, role, rule
from tests.releases import BASE
from tests.shared import SHARED, needs_shared

GROUP = "rbac.authorization.k8s.io"
ANN = Identity("ann", ("system:authenticated",))
SECRETS = rule("get", "-", "secrets")


def guard(*objects: Object) -> RBACEscalationGuard:
    """A guard over some roles and bindings."""
    index = AccessIndex.of(World(objects))
    return RBACEscalationGuard(BASE, index, UnionAuthorizer([PrivilegedGroups(), RBACAuthorizer(index)]))


def holding(*rules: Object, namespace: str = "x") -> RBACEscalationGuard:
    """A guard where ann has these rules, and some roles exist."""
    of = "role own" if namespace else "clusterrole own"
    return guard(
        role("own", *rules, namespace=namespace),
        binding("own", of, "user ann", namespace=namespace),
        role("secrets", SECRETS, namespace="x"),
        role("secrets", SECRETS),
    )


def refusal(check: Any, *arguments: Any, **named: Any) -> StatusError:
    """The error that a check raises."""
    with pytest.raises(StatusError) as caught:
        check(*arguments, **named)
    return caught.value


def test_writing_a_role() -> None:
    """A role may hold what its writer holds in the namespace, and not a verb more."""
    some = holding(rule("get list", "-", "configmaps"))
    some.check_role(ANN, role("r", rule("get", "-", "configmaps", names="a"), namespace="x"), None)
    error = refusal(some.check_role, ANN, role("r", rule("get delete", "-", "configmaps"), namespace="x"), None)
    assert error.code == 403
    assert error.message == (
        f'roles.{GROUP} "r" is forbidden: user "ann" (groups=["system:authenticated"]) is attempting to grant RBAC '
        'permissions not currently held:\n{APIGroups:[""], Resources:["configmaps"], Verbs:["delete"]}'
    )
    assert error.details == {"name": "r", "group": GROUP, "kind": "roles"}


def test_a_label_rechecks_all_rules() -> None:
    """A write that changes only a label is checked against all rules; one for the garbage collector is not."""
    old = role("secrets", SECRETS, namespace="x")
    labelled = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}
    assert refusal(holding().check_role, ANN, labelled, old).code == 403
    released = {**old, "metadata": {**old["metadata"], "finalizers": []}}
    held = {
        **old,
        "metadata": {**old["metadata"], "finalizers": ["example.com/hold"], "ownerReferences": [{"uid": "1"}]},
    }
    holding().check_role(ANN, released, held)


def test_escalate_by_name() -> None:
    """``escalate`` lifts the check; limited to a name, only for requests that carry the name."""
    some = holding(rule("escalate", GROUP, "roles", names="secrets"))
    wanted = role("secrets", SECRETS, namespace="x")
    assert refusal(some.check_role, ANN, wanted, None).code == 403
    some.check_role(ANN, wanted, None, requested_name="secrets")
    some.check_role(ANN, wanted, role("secrets", namespace="x"))
    holding(rule("escalate", GROUP, "roles")).check_role(ANN, wanted, None)


def test_s12_bind_is_asked_of_roles() -> None:
    """``bind`` counts on roles, by name too, and not on bindings."""
    wanted = binding("b", "role secrets", "user ann", namespace="x")
    holding(rule("bind", GROUP, "roles", names="secrets")).check_binding(ANN, wanted, None)
    assert refusal(holding(rule("bind", GROUP, "roles", names="other")).check_binding, ANN, wanted, None).code == 403
    assert refusal(holding(rule("bind", GROUP, "rolebindings")).check_binding, ANN, wanted, None).code == 403
    assert refusal(holding(rule("bind", GROUP, "clusterroles")).check_binding, ANN, wanted, None).code == 403
    holding(rule("bind", GROUP, "clusterroles")).check_binding(
        ANN, binding("b", "clusterrole secrets", "user ann", namespace="x"), None
    )


def test_s14_bindings_need_their_permissions() -> None:
    """A writer of bindings may bind only the permissions that it holds in their scope."""
    wanted = binding("b", "role secrets", "user ann", namespace="x")
    assert refusal(holding(rule("*", GROUP, "rolebindings")).check_binding, ANN, wanted, None).code == 403
    some = holding(rule("get list", "-", "secrets"))
    some.check_binding(ANN, wanted, None)
    everywhere = binding("b", "clusterrole secrets", "user ann")
    error = refusal(some.check_binding, ANN, everywhere, None)
    assert error.message.startswith(f'clusterrolebindings.{GROUP} "b" is forbidden: user "ann"')
    holding(rule("get", "-", "secrets"), namespace="").check_binding(ANN, everywhere, None)


def test_missing_role() -> None:
    """Binding a role that does not exist is 404, unless the writer may bind it; administrators may."""
    wanted = binding("b", "role gone", "user ann", namespace="x")
    error = refusal(holding().check_binding, ANN, wanted, None)
    assert (error.code, error.message) == (404, f'roles.{GROUP} "gone" not found')
    holding(rule("bind", GROUP, "roles")).check_binding(ANN, wanted, None)
    holding().check_binding(administrator(), wanted, None)
    odd = {**wanted, "roleRef": {"apiGroup": GROUP, "kind": "Cat", "name": "tom"}}
    assert refusal(holding().check_binding, ANN, odd, None).message == 'unsupported role reference kind: "Cat"'


def test_collector_fields_of_bindings() -> None:
    """Only what the garbage collector needs may change of a binding that one could not write."""
    old = binding("b", "role secrets", "user ann", namespace="x")
    owned = {**old, "metadata": {**old["metadata"], "ownerReferences": [{"uid": "1"}]}}
    holding().check_binding(ANN, owned, old)
    assert refusal(holding().check_binding, ANN, {**old, "subjects": []}, old).code == 403


@pytest.mark.parametrize("kind", ["clusterroles", "clusterrolebindings"])
def test_requests_for_the_collector(kind: str) -> None:
    """Whoever may not write the object may put it under a finalizer or an owner, by a patch or by all of it."""
    cluster = Cluster(seed=1)
    rules = [{"apiGroups": [GROUP], "resources": [kind], "verbs": ["patch", "update"]}]
    cluster.create({**role("writer", *rules), "apiVersion": f"{GROUP}/v1", "kind": "ClusterRole"})
    bound = binding("writer", "clusterrole writer", "user ann")
    cluster.create({**bound, "apiVersion": f"{GROUP}/v1", "kind": "ClusterRoleBinding"})
    path, patch = f"/apis/{GROUP}/v1/{kind}/cluster-admin", "application/merge-patch+json"

    def change(**fields: Any) -> int:
        request = Request.of("PATCH", path, {"metadata": fields}, content_type=patch)
        return cluster.perform(request, identity=ANN).status

    assert change(finalizers=["example.com/hold"]) == 200
    assert change(ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "1"}]) == 200
    assert change(labels={"a": "b"}) == 403
    whole = cluster.perform(Request.of("GET", path)).object
    released = {**whole, "metadata": {**whole["metadata"], "finalizers": []}}
    assert cluster.perform(Request.of("PUT", path, released), identity=ANN).status == 200
    del whole["metadata"]["resourceVersion"]
    assert cluster.perform(Request.of("PUT", path, whole), identity=ANN).status == 403


def test_aggregation_needs_everything() -> None:
    """Only who holds everything, or may escalate, writes a role that gathers, or one that did."""
    gathering = {**role("r"), "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}}
    some = holding(rule("get list watch create update patch delete", "*", "*"), namespace="")
    for new, old in ((gathering, None), (role("r"), gathering)):
        error = refusal(some.check_role, ANN, new, old)
        assert error.message.endswith("is forbidden: must have cluster-admin privileges to use the aggregationRule")
    holding(rule("escalate", GROUP, "clusterroles"), namespace="").check_role(ANN, gathering, None)
    everything = holding(rule("*", "*", "*"), rule("*", paths="*"), namespace="")
    everything.check_role(ANN, role("r"), gathering)
    holding().check_role(administrator(), gathering, None)


def test_unresolved_roles_are_mentioned() -> None:
    """Roles that are bound to the writer but missing show after what is missing."""
    some = guard(binding("gone", "clusterrole gone", "user ann"))
    error = refusal(some.check_role, ANN, role("r", SECRETS, namespace="x"), None)
    assert error.message.endswith(f'; resolution errors: [clusterroles.{GROUP} "gone" not found]')


@needs_shared
def test_recorded_attempts() -> None:
    """Recorded attempts to create roles and bindings on the big cluster are refused in the same words."""
    some = guard(*recorded_objects("operators-and-teams.json.gz"))
    compared = 0
    for line in (SHARED / "datasets" / "escalations.jsonl").read_bytes().splitlines():
        for step in orjson.loads(line)["steps"]:
            message, body = step.get("message", ""), step.get("body")
            if step["method"] != "POST" or not ("attempting to grant" in message or "aggregationRule" in message):
                continue
            who = Identity(step["identity"]["user"], tuple(step["identity"]["groups"]))
            metadata = dict(body["metadata"])
            if "/namespaces/" in step["path"]:
                metadata["namespace"] = step["path"].split("/namespaces/")[1].split("/")[0]
            check = some.check_role if body["kind"].endswith("Role") else some.check_binding
            assert refusal(check, who, {**body, "metadata": metadata}, None).message == message
            compared += 1
    assert compared >= 4
