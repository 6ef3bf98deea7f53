"""The requests that a primitive needs, made as they are: for primitives whose harm is in the request itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.escalation.find import states
from simkit.analysis.escalation.find.goal import AccessQuestion
from simkit.analysis.escalation.find.matching import ONLY
from simkit.analysis.escalation.prove.examples import fitting, schema_of
from simkit.analysis.escalation.prove.session import NotExecutable
from simkit.analysis.escalation.prove.templates import body_of, collection, merged
from simkit.analysis.escalation.table.primitive import Operation, primitives, requirements_of
from simkit.analysis.escalation.table.requirement import ANY_SUBRESOURCE, Permission
from simkit.meta.names import GroupResource
from simkit.meta.objects import at, name_of, namespace_of
from simkit.schema.catalogue import Resource
from simkit.snapshot.protocol import Snapshot

if TYPE_CHECKING:
    from simkit.analysis.escalation.prove.attacker import Attacker

MERGE: Final = "application/merge-patch+json"
ASKED_ONLY: Final = ("impersonate", "bind", "escalate", "approve", "sign", "attest", "use")
"""Verbs that no request has: whether they are granted is asked by a review."""
ANYTHING: Final = "anything"
"""What an open subresource is asked for as, where the rule does not name one."""
STREAMS: Final = ("/proxy", "/portforward", "/exec", "/attach", "/log")


def make_needed_requests(actor: Attacker) -> None:
    """Make, as the attacker, each request that the step's primitive needs."""
    step = actor.step
    assert step is not None
    needs = requirements_of(step.primitive.id, step.edge.way, actor.finding.world.release)
    for number, (need, permission) in enumerate(zip(needs, step.edge.permissions)):
        only = tuple(filter(None, step.variables.get(f"{ONLY}{number}", "").split(",")))
        name = step.variables.get(need.label, "") or next(iter(only), "")
        if permission.verb in ASKED_ONLY or _is_asked_elsewhere(actor, permission):
            plural, _, behind = permission.resource.partition("/")
            if behind == ANY_SUBRESOURCE:
                behind = _named_subresource(actor, number, permission)
            actor.review(AccessQuestion(permission.verb, plural, permission.group, "", name, behind))
        else:
            _make_request(actor, permission, (name,) if need.label and name else only)


def _named_subresource(actor: Attacker, number: int, permission: Permission) -> str:
    """What the rule that meets an open need names behind the slash."""
    assert actor.step is not None
    for source in actor.step.edge.needs[number]:
        for rule in (actor.finding.world.index.rules(source.role) or ())[source.rule :][:1]:
            for resource in rule.resources:
                if permission.stands_for(resource):
                    return resource.partition("/")[2] or ANYTHING
    return ANYTHING


def _is_asked_elsewhere(actor: Attacker, permission: Permission) -> bool:
    """Whether it is a subresource that the server does not serve: kubelets ask for those of nodes."""
    resource = actor.finding.served(permission)
    return bool(permission.subresource) and not resource.custom and permission.subresource not in resource.subresources


def _make_request(actor: Attacker, permission: Permission, names: tuple[str, ...]) -> None:
    resource = actor.finding.served(permission)
    act = Operation.model_validate({"as": "attacker"})
    if permission.nameless and permission.verb == "create":
        path = collection(resource, actor.words["namespace"])
        actor.take(
            act, actor.ask(act, "POST", path, example_of(resource, actor.words, actor.session.sandbox.snapshot()))
        )
        return
    if permission.verb in ("list", "watch", "deletecollection"):
        method = "DELETE" if permission.verb == "deletecollection" else "GET"
        actor.ask(act, method, collection(resource, actor.words["namespace"]), None)
        return
    path = _existing(actor, resource, names)
    behind = f"/{permission.subresource}" if permission.subresource else ""
    _touch(actor, act, permission, path, behind)


def _touch(actor: Attacker, act: Operation, permission: Permission, path: str, behind: str) -> None:
    """One request about an object that is there."""
    verb = permission.verb
    if behind in STREAMS and verb not in ("get", "create"):
        raise NotExecutable(f"the server has no request that asks for {permission}")
    if behind in STREAMS:
        actor.connect(Operation.model_validate({"as": "attacker", "connect": path + behind}))
    elif verb == "get":
        actor.ask(act, "GET", path + behind, None)
    elif verb == "delete":
        actor.ask(act, "DELETE", path + behind, None)
    elif verb == "create":
        actor.ask(act, "POST", path + behind, _of_subresource(actor, path, behind))
    else:
        change = {"metadata": {"annotations": {"proof.example/step": str(actor.session.number)}}}
        if verb == "patch":
            actor.ask(act, "PATCH", path + behind, change, content_type=MERGE)
        else:
            actor.ask(act, "PUT", path + behind, merged(actor.session.stored(path + behind), change))


def _of_subresource(actor: Attacker, path: str, behind: str) -> Any:
    if behind == "/eviction":
        return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": path.rpartition("/")[2]}}
    raise NotExecutable(f"nothing is known to send to {behind}")


def example_of(resource: Resource, words: Mapping[str, Any], snapshot: Snapshot) -> Any:
    """A new object of a resource. Raises NotExecutable where the table has none."""
    if resource.resource == "pods" and not resource.group:
        return body_of("plain-pod", words)
    known = resource.resource in primitives().bodies
    given = body_of(resource.resource, words) if known else {"spec": {}}
    if not resource.custom:
        if not known:
            raise NotExecutable(f"no example of {resource} is in the table")
        return {**given, "apiVersion": resource.api_version}
    schema = schema_of(snapshot, resource)
    if not known and "serviceAccountName" in (at(schema, "properties", "spec", "properties") or {}):
        given = {"spec": {"serviceAccountName": words["account"]}}
    whole = {**given, "kind": resource.kind, "metadata": {"name": words["fresh"], **given.get("metadata", {})}}
    return {**fitting(schema, whole), "apiVersion": resource.api_version}


def _existing(actor: Attacker, resource: Resource, names: tuple[str, ...]) -> str:
    """The path of an object that is there: of one of the names, or any. Raises NotExecutable where there is none."""
    where = actor.words["namespace"] if resource.namespaced else None
    wanted = names or tuple(filter(None, (actor.words.get("object", ""),)))
    snapshot = actor.session.sandbox.snapshot()
    key = GroupResource(resource.group, resource.resource)
    if key in snapshot.captured():
        anywhere = actor.step is not None and actor.step.edge.value("namespace") in ("", states.ALL)
        for place in (where, None) if anywhere else (where,):
            for obj in snapshot.scan(key, place):
                if not wanted or name_of(obj) in wanted:
                    return f"{collection(resource, namespace_of(obj))}/{name_of(obj)}"
    named = f" named {' or '.join(wanted)}" if wanted else ""
    raise NotExecutable(f"there is no object of {resource.group_resource}{named} to use it on")
