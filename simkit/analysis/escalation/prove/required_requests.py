"""The required requests of a primitive, sent as they are, with example objects that are valid for their schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.catalogue import DEFINITIONS
from simkit.analysis.escalation.find import states
from simkit.analysis.escalation.find.matching import ONLY
from simkit.analysis.escalation.prove.proving_fork import NotExecutable
from simkit.analysis.escalation.prove.variables import body_of
from simkit.analysis.escalation.table.primitive import Operation, primitives, requirements_of
from simkit.analysis.escalation.table.requirement import ANY_SUBRESOURCE, Permission
from simkit.analysis.least_privilege.change import MERGE
from simkit.analysis.least_privilege.recorded_access import Action
from simkit.language.merge.mergepatch import merge_patch
from simkit.meta.names import GroupResource
from simkit.meta.objects import at, name_of, namespace_of
from simkit.schema.catalogue import Resource
from simkit.seams.snapshot import Snapshot

if TYPE_CHECKING:
    from simkit.analysis.escalation.prove.attacker import Attacker

ASKED_ONLY: Final = ("impersonate", "bind", "escalate", "approve", "sign", "attest", "use")
"""Verbs that no request has: a review shows whether they are granted."""
ANYTHING: Final = "anything"
"""The name of an open subresource, if the rule does not give one."""
PLAIN: Final = Operation.model_validate({})
"""A request that the attacker makes itself."""
STREAMS: Final = ("/proxy", "/portforward", "/exec", "/attach", "/log")


def make_needed_requests(attacker: Attacker) -> None:
    """Send, as the attacker, each required request of the step's primitive."""
    step = attacker.step
    needs = requirements_of(step.primitive.id, step.edge.number, attacker.step_variables.facts.release)
    for number, (requirement, permission) in enumerate(zip(needs, step.edge.permissions)):
        only = tuple(filter(None, step.variables.get(f"{ONLY}{number}", "").split(",")))
        name = step.variables.get(requirement.label, "") or next(iter(only), "")
        if permission.verb in ASKED_ONLY or _is_asked_elsewhere(attacker, permission):
            plural, _, behind = permission.resource.partition("/")
            if behind == ANY_SUBRESOURCE:
                behind = _named_subresource(attacker, number, permission)
            attacker.review(Action(permission.verb, permission.group, plural, behind, name=name))
        else:
            _make_request(attacker, permission, (name,) if requirement.label and name else only)


def _named_subresource(attacker: Attacker, number: int, permission: Permission) -> str:
    """The subresource in the rule that meets an open requirement."""
    for source in attacker.step.edge.granted_by[number]:
        for rule in (attacker.step_variables.facts.index.rules(source.role) or ())[source.rule :][:1]:
            for resource in rule.resources:
                if permission.stands_for(resource):
                    return resource.partition("/")[2] or ANYTHING
    return ANYTHING


def _is_asked_elsewhere(attacker: Attacker, permission: Permission) -> bool:
    """True if it is a subresource that only kubelets ask about, as those of nodes."""
    resource = attacker.step_variables.served(permission)
    return bool(permission.subresource) and not resource.custom and permission.subresource not in resource.subresources


def _make_request(attacker: Attacker, permission: Permission, names: tuple[str, ...]) -> None:
    resource, verb = attacker.step_variables.served(permission), permission.verb
    collection = resource.collection(attacker.values["namespace"])
    if permission.nameless and verb == "create":
        example = example_of(resource, attacker.values, attacker.session.sandbox.snapshot())
        attacker.take(PLAIN, attacker.ask(PLAIN, "POST", collection, example))
    elif verb in ("list", "watch", "deletecollection"):
        attacker.ask(PLAIN, "DELETE" if verb == "deletecollection" else "GET", collection, None)
    else:
        _touch(attacker, permission, _existing(attacker, resource, names))


def _touch(attacker: Attacker, permission: Permission, path: str) -> None:
    """Send one request about an existing object."""
    verb, behind = permission.verb, f"/{permission.subresource}" if permission.subresource else ""
    whole = path + behind
    if behind in STREAMS:
        if verb not in ("get", "create"):
            raise NotExecutable(f"no request of kube-apiserver needs {permission}")
        attacker.connect(Operation.model_validate({"connect": whole}))
    elif verb in ("get", "delete"):
        attacker.ask(PLAIN, verb.upper(), whole, None)
    elif verb == "create":
        if behind != "/eviction":
            raise NotExecutable(f"no request body is known for {behind}")
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": path.rpartition("/")[2]}}
        attacker.ask(PLAIN, "POST", whole, eviction)
    else:
        change = {"metadata": {"annotations": {"proof.example/step": str(attacker.session.number)}}}
        if verb == "patch":
            attacker.ask(PLAIN, "PATCH", whole, change, content_type=MERGE)
        else:
            attacker.ask(PLAIN, "PUT", whole, merge_patch(attacker.session.stored(whole), change))


def example_of(resource: Resource, values: Mapping[str, Any], snapshot: Snapshot) -> Any:
    """A new object of a resource. Raises NotExecutable if the table has no example."""
    if resource.resource == "pods" and not resource.group:
        return body_of("plain-pod", values)
    known = resource.resource in primitives().bodies
    given = body_of(resource.resource, values) if known else {"spec": {}}
    if not resource.custom:
        if not known:
            raise NotExecutable(f"no example of {resource} is known")
        return {**given, "apiVersion": resource.api_version}
    schema = schema_of(snapshot, resource)
    if not known and "serviceAccountName" in (at(schema, "properties", "spec", "properties") or {}):
        given = {"spec": {"serviceAccountName": values["account"]}}
    whole = {**given, "kind": resource.kind, "metadata": {"name": values["fresh"], **given.get("metadata", {})}}
    return {**fitting(schema, whole), "apiVersion": resource.api_version}


def _existing(attacker: Attacker, resource: Resource, names: tuple[str, ...]) -> str:
    """The path of an existing object: of one of the names, or any. Raises NotExecutable if there is none."""
    where = attacker.values["namespace"] if resource.namespaced else None
    wanted = names or tuple(filter(None, (attacker.values.get("object", ""),)))
    snapshot = attacker.session.sandbox.snapshot()
    key = GroupResource(resource.group, resource.resource)
    if key in snapshot.captured():
        anywhere = attacker.step.edge.value("namespace") in ("", states.ALL)
        for place in (where, None) if anywhere else (where,):
            for obj in snapshot.scan(key, place):
                if not wanted or name_of(obj) in wanted:
                    return resource.path_to(name_of(obj), namespace_of(obj))
    named = f" named {' or '.join(wanted)}" if wanted else ""
    raise NotExecutable(f"there is no object of {resource.group_resource}{named} to use it on")


WORDS: Final = ("proof", "Proof", "proof.example", "v1", "proof.example/v1", "1m", "https://proof.example", "1", "1Gi")
"""Texts to try for a pattern."""
FORMATS: Final[Mapping[str, str]] = {
    "date-time": "2024-01-01T00:00:00Z",
    "date": "2024-01-01",
    "duration": "1m",
    "uri": "https://proof.example",
    "email": "proof@proof.example",
    "ipv4": "192.0.2.9",
    "ipv6": "2001:db8::9",
    "byte": "cHJvb2Y=",
    "uuid": "00000000-0000-4000-8000-000000000000",
}


def fitting(schema: Mapping[str, Any], given: Any = None) -> Any:
    """A value that is valid for a structural schema: the given one, with all required fields added.

    Rules in expressions and combinations of schemas are not looked at.

    Examples
    --------
    >>> wanted = {"type": "object", "required": ["size"], "properties": {"size": {"type": "integer", "minimum": 3}}}
    >>> fitting(wanted, {"name": "a"})
    {'name': 'a', 'size': 3}
    """
    kind = schema.get("type") or ("object" if schema.get("properties") else "")
    if isinstance(given, Mapping) or (given is None and kind == "object"):
        properties = schema.get("properties") or {}
        made = {key: fitting(properties.get(key) or {}, value) for key, value in (given or {}).items()}
        missing = [key for key in schema.get("required") or () if key not in made]
        lacking = (schema.get("minProperties") or 0) - len(made) - len(missing)
        missing += [key for key in properties if key not in made and key not in missing][: max(lacking, 0)]
        return {**made, **{key: fitting(properties.get(key) or {}) for key in missing}}
    if isinstance(given, list):
        return [fitting(schema.get("items") or {}, one) for one in given]
    return _made(schema, kind) if given is None else given


def _made(schema: Mapping[str, Any], kind: str) -> Any:
    if "default" in schema:
        return schema["default"]
    if schema.get("enum"):
        return schema["enum"][0]
    if kind == "array":
        return [fitting(schema.get("items") or {}) for _ in range(schema.get("minItems") or 0)]
    if kind == "boolean":
        return False
    if kind in ("integer", "number") or schema.get("x-kubernetes-int-or-string"):
        return schema.get("minimum", 1)
    return _text(schema) if kind == "string" else {}


def _text(schema: Mapping[str, Any]) -> str:
    values = (FORMATS.get(schema.get("format") or "", WORDS[0]), *WORDS)
    pattern = schema.get("pattern") or ""
    found = next((word for word in values if re.search(pattern, word)), WORDS[0])
    return found.ljust(schema.get("minLength") or 0, "x")


def schema_of(snapshot: Snapshot, resource: Resource) -> Mapping[str, Any]:
    """The schema of a custom resource in its served version; empty if none is known."""
    if DEFINITIONS in snapshot.captured():
        definition = snapshot.get(DEFINITIONS, f"{resource.resource}.{resource.group}")
        for version in at(definition or {}, "spec", "versions") or ():
            if version.get("name") == resource.version:
                schema: Mapping[str, Any] = at(version, "schema", "openAPIV3Schema") or {}
                return schema
    return {}
