"""Compilation and validation of the CEL expressions of admission policies and webhooks.

Follows ``pkg/apis/admissionregistration/validation/validation.go`` and
``k8s.io/apiserver/pkg/admission/plugin/cel/compile.go``, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from simkit.kinds.parts.validation.fields import repeats, validate_text
from simkit.language.cel.build import RESERVED
from simkit.language.cel.environment import Environment, Program, stored_version, written_version
from simkit.language.cel.errors import CompileError, ResultTypeError
from simkit.language.cel.lib_policies import JSON_PATCH, OBJECT
from simkit.language.cel.types import BOOL, DYN, INT, NULL, STRING, TIMESTAMP, Type, list_of, map_of, object_of, parsed
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import (
    Errors,
    FieldError,
    duplicate,
    field_detail,
    internal_error,
    invalid_value,
    required,
    too_many,
)
from simkit.meta.name_validation import qualified_name
from simkit.meta.objects import Object

Types = Mapping[str, Type]

_MOST_CONDITIONS: Final = 64
_MOST_ANNOTATIONS: Final = 20
_VALUE_BYTES: Final = 5 * 1024
_IDENTIFIER: Final = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_LINE_BREAK: Final = re.compile(r"[\n\r]")
AUDIT_TYPES: Final = (STRING, NULL)
"""The types that the value expression of an audit annotation may have."""
MUTATION_FIELDS: Final = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
"""The fields of a mutation that hold its expression, by the type of its patch."""
MUTATION_TYPES: Final = {"ApplyConfiguration": OBJECT, "JSONPatch": list_of(JSON_PATCH)}
"""The types that these expressions must have."""

_RESOURCE: Final = object_of("kubernetes.GroupVersionResource", dict.fromkeys(("group", "version", "resource"), STRING))
_KIND: Final = object_of("kubernetes.GroupVersionKind", dict.fromkeys(("group", "version", "kind"), STRING))
_USER: Final = object_of(
    "kubernetes.UserInfo",
    {"username": STRING, "uid": STRING, "groups": list_of(STRING), "extra": map_of(STRING, list_of(STRING))},
)
REQUEST: Final = object_of(
    "kubernetes.AdmissionRequest",
    {
        "kind": _KIND,
        "resource": _RESOURCE,
        "subResource": STRING,
        "requestKind": _KIND,
        "requestResource": _RESOURCE,
        "requestSubResource": STRING,
        "name": STRING,
        "namespace": STRING,
        "operation": STRING,
        "userInfo": _USER,
        "dryRun": BOOL,
        "options": DYN,
    },
)
"""The type of ``request``."""
_NAMESPACE_METADATA: Final = object_of(
    "kubernetes.NamespaceMetadata",
    {
        **dict.fromkeys(("name", "generateName", "namespace", "resourceVersion", "UID"), STRING),
        **dict.fromkeys(("labels", "annotations"), map_of(STRING, STRING)),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), TIMESTAMP),
        **dict.fromkeys(("generation", "deletionGracePeriodSeconds"), INT),
        "finalizers": list_of(STRING),
    },
)
NAMESPACE: Final = object_of(
    "kubernetes.Namespace",
    {
        "metadata": _NAMESPACE_METADATA,
        "spec": object_of("kubernetes.NamespaceSpec", {"finalizers": list_of(STRING)}),
        "status": object_of("kubernetes.NamespaceStatus", {"phase": STRING}),
    },
)
"""The type of ``namespaceObject``."""


def environment(
    behaviour: ServedBehaviour,
    *,
    params: bool = False,
    authorizer: bool = True,
    request_resource: bool = True,
    variables: Types | None = None,
    stored: bool = True,
    objects: Type = DYN,
    param: Type = DYN,
    patches: bool = False,
    strict: bool | None = None,
) -> Environment:
    """The CEL environment of an expression.

    Parameters
    ----------
    behaviour
        That of the server that reads it.
    params, authorizer
        Whether ``params`` and ``authorizer`` are there.
    request_resource
        Whether ``authorizer.requestResource`` is there with the authorizer.
    variables
        Types of the variables that stand before the expression; None where the policy has no variables.
    stored
        Whether the expression is stored already: then newer functions may be used than when it is written.
    objects, param
        Types of ``object`` and ``oldObject``, and of ``params``; any value unless given.
    patches
        Whether objects and patches can be made, as in mutations.
    strict
        Whether functions of libraries cost what they cost; as the release has it for policies unless given.
    """
    found = {"object": objects, "oldObject": objects, "request": REQUEST, "namespaceObject": NAMESPACE}
    if params:
        found["params"] = param
    if authorizer:
        found["authorizer"] = parsed("Authorizer")
        if request_resource:
            found["authorizer.requestResource"] = parsed("ResourceCheck")
    if variables is not None:
        found["variables"] = object_of("kubernetes.variables", variables)
    if strict is None:
        strict = behaviour.applies("cost-of-functions-in-policies")
    version = stored_version(behaviour) if stored else written_version(behaviour)
    return Environment(behaviour, found, version=version, strict=strict, patches=patches)


_KEPT: Final = frozenset({"bool", "bytes", "double", "duration", "int", "null", "string", "timestamp", "uint"})


def variable_type(found: Type) -> Type:
    """The declared type of a variable: that of its expression, if it is a simple one, a list or a map; else dyn.

    Examples
    --------
    >>> str(variable_type(parsed("map(string, list(int))"))), str(variable_type(parsed("list(Quantity)")))
    ('map(string, list(int))', 'list(dyn)')
    """
    if found.kind in _KEPT:
        return found
    inside = [variable_type(each) for each in found.parameters]
    if found.kind == "list":
        return list_of(*inside)
    return map_of(*inside) if found.kind == "map" else DYN


@lru_cache(maxsize=4096)
def _compiled(source: str, behaviour: ServedBehaviour, params: bool, stored: bool, expected: Type) -> Program:
    return environment(behaviour, params=params, stored=stored).compile(source, expected=expected)


def match_condition(source: str, behaviour: ServedBehaviour, *, params: bool = False, stored: bool = True) -> Program:
    """The program of a match condition. Raises CompileError."""
    return _compiled(source, behaviour, params, stored, BOOL)


def is_identifier(name: str) -> bool:
    """True if a name is valid for a variable.

    Examples
    --------
    >>> is_identifier("team"), is_identifier("1x"), is_identifier("in")
    (True, False, False)
    """
    return bool(_IDENTIFIER.fullmatch(name)) and name not in RESERVED


def explained(error: CompileError, behaviour: ServedBehaviour) -> str:
    """The message of a compilation error, in kube-apiserver's words."""
    if isinstance(error, ResultTypeError):
        names = ["null_type" if name == "null" else name for name in error.wanted.split(" or ")]
        told = f"must evaluate to {names[0]}" if len(names) == 1 else f"must evaluate to one of [{' '.join(names)}]"
        return f"{told} but got {error.found}" if behaviour.applies("result-type-told") else told
    if error.stage == "instantiation":
        return f"program instantiation failed: {error}"
    return f"compilation failed: {error}"


def compile_error(behaviour: ServedBehaviour, path: str, source: str, error: CompileError) -> FieldError:
    """The field error of an expression that does not compile."""
    if error.stage == "instantiation":
        return internal_error(path, explained(error, behaviour))
    return invalid_value(path, source, explained(error, behaviour))


def validate_match_condition(
    behaviour: ServedBehaviour,
    conditions: Sequence[Object] | None,
    path: str,
    *,
    params: bool = False,
    known: Collection[str] = (),
) -> Errors:
    """All errors of the match conditions of a policy or of a webhook.

    Parameters
    ----------
    params
        Whether ``params`` may be mentioned.
    known
        Expressions that are stored already, which are read as stored ones.
    """
    listed = conditions or ()
    if len(listed) > _MOST_CONDITIONS:
        yield too_many(path, len(listed), _MOST_CONDITIONS)
    again = repeats(condition.get("name") or "" for condition in listed)
    for index, condition in enumerate(listed):
        here, name, source = f"{path}[{index}]", condition.get("name") or "", condition.get("expression") or ""
        source = source.strip()
        try:
            if source:
                match_condition(source, behaviour, params=params, stored=source in known)
            else:
                yield required(f"{here}.expression")
        except CompileError as error:
            yield compile_error(behaviour, f"{here}.expression", source, error)
        yield from validate_text(f"{here}.name", name, qualified_name) if name else (required(f"{here}.name"),)
        if name and index in again:
            yield duplicate(f"{here}.name", name)


def written(spec: Object | None, part: str, field: str = "expression") -> frozenset[str]:
    """The expressions in one part of a policy's spec, or of a webhook.

    Examples
    --------
    >>> sorted(written({"validations": [{"expression": "true"}, {"expression": "1 == 1"}]}, "validations"))
    ['1 == 1', 'true']
    """
    return frozenset(each.get(field) or "" for each in (spec or {}).get(part) or ())


class PolicyReader:
    """Validates the parts of a policy's spec in the order in which they can refer to each other.

    Parameters
    ----------
    behaviour
        The behaviour of the release, by which expressions are compiled.
    spec
        The spec that is being written.
    old
        The one that it replaces: its expressions are read as stored ones.
    composed
        Whether ``variables`` is there even if there are none.
    """

    def __init__(
        self, behaviour: ServedBehaviour, spec: Object, old: Object | None = None, *, composed: bool = False
    ) -> None:
        self.behaviour, self._spec, self._old = behaviour, spec, old
        self._params = spec.get("paramKind") is not None
        self._types: dict[str, Type] | None = {} if composed or spec.get("variables") else None
        self._checked = written(old, "validations")
        self._messages = written(old, "validations", "messageExpression")
        self._values = written(old, "auditAnnotations", "valueExpression")
        configurations = (each.get("applyConfiguration") for each in (old or {}).get("mutations") or ())
        self._configurations = frozenset(each.get("expression") or "" for each in configurations if each)

    def _environment(self, *, stored: bool, authorizer: bool = True, patches: bool = False) -> Environment:
        return environment(
            self.behaviour,
            params=self._params,
            authorizer=authorizer,
            variables=self._types,
            stored=stored,
            patches=patches,
        )

    def validate_match_condition(self, path: str) -> Errors:
        """The errors of the match conditions, which see no variables. Unchanged ones are not validated."""
        conditions, old = self._spec.get("matchConditions"), self._old
        if old is not None and all(self._spec.get(part) == old.get(part) for part in ("paramKind", "matchConditions")):
            return iter(())
        return validate_match_condition(
            self.behaviour, conditions, path, params=self._params, known=written(old, "matchConditions")
        )

    def validate_variable(self, path: str) -> Errors:
        """The errors of the variables; each sees those before it.

        One counts as stored where a validation of the old policy had the same expression, as on kube-apiserver.
        """
        for index, variable in enumerate(self._spec.get("variables") or ()):
            here, name, source = f"{path}[{index}]", variable.get("name") or "", variable.get("expression") or ""
            if not name.strip():
                yield required(f"{here}.name", "name is not specified")
            elif not is_identifier(name):
                yield invalid_value(f"{here}.name", name, _bad_name(self.behaviour))
            if not source.strip():
                yield required(f"{here}.expression", "expression is not specified")
                continue
            try:
                found = variable_type(self._environment(stored=source in self._checked).compile(source).type)
            except CompileError as error:
                yield compile_error(self.behaviour, f"{here}.expression", source, error)
                found = DYN
            self._types = {**(self._types or {}), name: found}

    def validate_expression(self, source: str, path: str) -> list[FieldError]:
        """The errors of the expression of a validation."""
        return self._validate_fields(source, path, self._environment(stored=source in self._checked), BOOL)

    def validate_message(self, source: str, path: str) -> list[FieldError]:
        """The errors of a message expression, which cannot ask the authorizer."""
        known = self._environment(stored=source in self._messages, authorizer=False)
        return self._validate_fields(source, path, known, STRING)

    def _validate_fields(
        self, source: str, path: str, known: Environment, expected: Type | Sequence[Type], *, shown: str = ""
    ) -> list[FieldError]:
        try:
            known.compile(source, expected=expected)
        except CompileError as error:
            return [compile_error(self.behaviour, path, shown or source, error)]
        return []

    def validate_mutation(self, kind: str, source: str, path: str) -> list[FieldError]:
        """The errors of the expression of a mutation.

        It counts as stored where the old policy had it in an applied configuration; a patch too, as on kube-apiserver.
        """
        known = self._environment(stored=source in self._configurations, patches=True)
        return self._validate_fields(source.strip(), path, known, MUTATION_TYPES[kind])

    def validate_annotation(self, policy_name: str, path: str) -> Errors:
        """The errors of the audit annotations, whose keys follow the policy's name in the log."""
        annotations = self._spec.get("auditAnnotations") or ()
        if len(annotations) > _MOST_ANNOTATIONS:
            text = f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"
            yield invalid_value(path, list(annotations), text)
        again = repeats(annotation.get("key") or "" for annotation in annotations)
        for index, annotation in enumerate(annotations):
            here, key, source = f"{path}[{index}]", annotation.get("key") or "", annotation.get("valueExpression") or ""
            if policy_name:
                yield from validate_text(f"{here}.key", f"{policy_name}/{key}", qualified_name)
            else:
                yield invalid_value(f"{here}.key", key, "requires metadata.name be non-empty")
            where, trimmed = f"{here}.valueExpression", source.strip()
            if not trimmed:
                yield required(where, "valueExpression is not specified")
            elif len(trimmed.encode()) > _VALUE_BYTES:
                yield required(where, f"must not exceed {_VALUE_BYTES} bytes in length")
            else:
                known = self._environment(stored=source in self._values)
                yield from self._validate_fields(trimmed, where, known, AUDIT_TYPES, shown=source)
            if index in again:
                yield duplicate(f"{here}.key", key)


def validate_validation(reader: PolicyReader, validation: Mapping[str, Any], path: str) -> Errors:
    """The errors of the expression, message expression and message of one validation."""
    source, message = validation.get("expression") or "", validation.get("message") or ""
    computed = validation.get("messageExpression") or ""
    if not source.strip():
        yield required(f"{path}.expression", "expression is not specified")
    else:
        yield from reader.validate_expression(source, f"{path}.expression")
    if computed and not computed.strip():
        yield invalid_value(f"{path}.messageExpression", computed, "must be non-empty if specified")
    elif computed:
        yield from reader.validate_message(computed, f"{path}.messageExpression")
    if message and not message.strip():
        yield invalid_value(f"{path}.message", message, field_detail("message must be non-empty if specified"))
    elif _LINE_BREAK.search(message.strip()):
        yield invalid_value(f"{path}.message", message, field_detail("message must not contain line breaks"))


def _bad_name(behaviour: ServedBehaviour) -> str:
    named = behaviour.applies("details-without-field-names")
    return "must be a valid CEL identifier" if named else "name is not a valid CEL identifier"
