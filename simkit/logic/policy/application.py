"""The object that one mutation of a policy makes: an applied configuration merged into it, or a JSON patch.

k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch/smd.go and json_patch.go, release 1.36.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.language.cel.errors import EvaluationError
from simkit.language.cel.patch_values import MadeObject, UnfitNames, checked_names, configuration, patch_value
from simkit.language.merge.jsonpatch import checked_json_patch, json_patch
from simkit.language.merge.mergepatch import PatchError
from simkit.language.merge.type_def import LEAF, LIST, MAP, SET, BadElement, TypeDef, type_def_of
from simkit.language.merge.typed import merged
from simkit.language.merge.validate import validation_errors
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.errors import internal
from simkit.meta.objects import Object
from simkit.schema.decoding import DecodeError, decode
from simkit.schema.structural import Schema

_FRACTION: Final = re.compile(r"json: cannot unmarshal number \S+ into Go .* of type int\d+")


class MutationFailed(Exception):
    """A mutation that cannot be made; the text is kube-apiserver's."""


def configured(behaviour: ServedBehaviour, obj: Object, value: MadeObject, schema: Schema | None) -> Object:
    """The object with the configuration that an expression made. Raises MutationFailed."""
    try:
        applied = configuration(checked_names(value))
    except UnfitNames as error:
        raise MutationFailed(f"type mismatch: {error}") from None
    except EvaluationError:
        raise MutationFailed("invalid return type: *dynamic.ObjectVal") from None
    applied = {**applied, "apiVersion": obj.get("apiVersion"), "kind": obj.get("kind")}
    type_def = type_def_of(behaviour, schema)
    wrong = validation_errors(applied, type_def)
    if wrong:
        raise MutationFailed(f"error applying patch: failed to convert patch object to typed object: {wrong}")
    whole = list(_atomic_parts(applied, type_def, ""))
    if whole:
        text = f"may not mutate atomic arrays, maps or structs: {', '.join(whole)}"
        raise MutationFailed(f"error applying patch: invalid ApplyConfiguration: {text}")
    try:
        made: Object = merged(dict(obj), applied, type_def)
    except BadElement as error:
        raise MutationFailed(f"error applying patch: failed to merge patch: {error}") from None
    if schema is not None and schema.name:
        _check_types(behaviour, made, schema)
    return made


def _check_types(behaviour: ServedBehaviour, made: Object, schema: Schema) -> None:
    """Raise MutationFailed for values of other types than the kind has."""
    try:
        decode(behaviour, made, schema)
    except DecodeError as error:
        group, _, version = str(made.get("apiVersion") or "").rpartition("/")
        text = _FRACTION.sub("cannot convert float64 to int64", str(error))
        kind = f"{group}/{version}, Kind={made.get('kind')}"
        raise MutationFailed(f"unable to convert unstructured object to {kind}: {text}") from None


def _atomic_parts(value: Any, type_def: TypeDef, path: str) -> Iterator[str]:
    """The paths of lists and maps which would be replaced as a whole."""
    if isinstance(value, Mapping):
        if type_def.kind is LEAF and type_def.type == "map":
            yield path
        for name in sorted(value):
            known = type_def.fields.get(name)
            if known is not None:
                yield from _atomic_parts(value[name], known.type_def, f"{path}.{name}")
    elif isinstance(value, list) and (type_def.type == "list" or type_def.kind not in (MAP, LEAF)):
        if type_def.kind not in (LIST, SET):
            yield path
        for index, item in enumerate(value):
            yield from _atomic_parts(item, type_def.items, f"{path}[{index}]")


def patched(
    behaviour: ServedBehaviour, obj: Object, operations: Sequence[Mapping[str, Any]], schema: Schema | None
) -> Object:
    """The object after the JSON patch that an expression made; the same where a test in it failed.

    Raises
    ------
    MutationFailed
        Where an operation does not fit.
    StatusError
        500 where the result is no object of the kind.
    """
    try:
        patch = [_operation(each) for each in operations]
    except UnfitNames as error:
        raise MutationFailed(f"type mismatch: {error}") from None
    except EvaluationError as error:
        text = "JSONPath valueExpression evaluated to a type that could not marshal to JSON"
        raise MutationFailed(f"{text}: {error}") from None
    try:
        made: Object = json_patch(dict(obj), checked_json_patch(patch))
    except PatchError as error:
        if error.detail.endswith("test failed"):
            return obj
        raise MutationFailed(f"JSON Patch: {error.detail}") from None
    if schema is not None and schema.name:
        _check_fields(behaviour, made, schema)
    return made


def _operation(value: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"op": value["op"], "path": value["path"]}
    if value["from"]:
        found["from"] = value["from"]
    if "value" in value:
        given = value["value"]
        found["value"] = patch_value(checked_names(given) if isinstance(given, MadeObject) else given)
    return found


def _check_fields(behaviour: ServedBehaviour, made: Object, schema: Schema) -> None:
    """Raise the 500 StatusError for a result with fields that the kind does not have, or values of other types."""
    try:
        problems = decode(behaviour, made, schema).problems
    except DecodeError as error:
        raise internal(str(error)) from None
    if problems:
        raise internal(f"strict decoding error: {', '.join(problems)}")
