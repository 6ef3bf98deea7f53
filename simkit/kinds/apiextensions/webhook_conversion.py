"""Checks of the objects that a conversion webhook returns.

Follows ``k8s.io/apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from simkit.kinds.parts.validation.object_meta import validate_annotations, validate_labels
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, aggregate_errors
from simkit.meta.names import GroupVersion
from simkit.meta.objects import Object, metadata

_SAME: Final = (("name", "name"), ("namespace", "namespace"), ("uid", "UID"))
_MAPS: Final[Mapping[str, tuple[str, Callable[[ServedBehaviour, str, Mapping[str, str]], Iterable[FieldError]]]]] = {
    "labels": ("metadata.labels", validate_labels),
    "annotations": ("metadata.annotation", validate_annotations),
}


class ConversionFailed(Exception):
    """Objects that could not be converted; the text is kube-apiserver's."""


def kind_text(obj: Object) -> str:
    """The kind of an object in errors of conversions.

    Examples
    --------
    >>> kind_text({"apiVersion": "example.com/v1", "kind": "Widget"})
    'example.com/v1, Kind=Widget'
    """
    group, version = GroupVersion.parse(obj.get("apiVersion") or "")
    return f"{group}/{version}, Kind={obj.get('kind') or ''}"


def accept_converted(
    behaviour: ServedBehaviour, sent: Sequence[Object], answered: Sequence[Any], api_version: str
) -> list[Object]:
    """The converted objects with the metadata of the originals; only labels and annotations may change.

    Raises
    ------
    ConversionFailed
        For a wrong number of objects, and for one of another version, kind, name, namespace or uid.
    """
    about = f"conversion for {kind_text(sent[0])} returned"
    if len(answered) != len(sent):
        raise ConversionFailed(f"{about} {len(answered)} objects, expected {len(sent)}")
    found: list[Object] = []
    for index, (original, converted) in enumerate(zip(sent, answered)):
        problem = _difference(original, converted, api_version)
        if problem:
            raise ConversionFailed(f"{about} invalid converted object at index {index}: {problem}")
        try:
            found.append(_restored(behaviour, original, converted))
        except ConversionFailed as error:
            raise ConversionFailed(f"{about} invalid metadata in object at index {index}: {error}") from None
    return found


def _difference(original: Object, converted: Any, api_version: str) -> str:
    """The reason why an object does not match the request; empty if it does."""
    given = str(converted.get("apiVersion") or "")
    if given != api_version:
        return f"invalid groupVersion (expected {api_version}, received {given})"
    kinds = original.get("kind"), converted.get("kind") or ""
    if kinds[0] != kinds[1]:
        return f"invalid kind (expected {kinds[0]}, received {kinds[1]})"
    noted = converted.get("metadata")
    noted = noted if isinstance(noted, Mapping) else {}
    for name, shown in _SAME:
        wanted, got = metadata(original).get(name) or "", noted.get(name) or ""
        if wanted != got:
            return f"must have the same {shown}: {wanted} != {got}"
    return ""


def _restored(behaviour: ServedBehaviour, original: Object, converted: Mapping[str, Any]) -> Object:
    """The converted object with the metadata of the original, except labels and annotations."""
    if "metadata" not in converted:
        raise ConversionFailed("missing metadata in converted object")
    given = converted["metadata"]
    if not isinstance(given, Mapping):
        raise ConversionFailed(f"invalid metadata of type {_go_type(given)} in converted object")
    kept = {name: value for name, value in metadata(original).items() if name not in _MAPS}
    for name, (path, validate) in _MAPS.items():
        texts = given.get(name)
        if texts is not None:
            _check_texts(name, texts)
            errors = list(validate(behaviour, path, texts)) if texts != (metadata(original).get(name) or {}) else []
            if errors:
                raise ConversionFailed(aggregate_errors(error.told(behaviour) for error in errors))
            kept[name] = dict(texts)
    return {**converted, "metadata": kept}


def _check_texts(name: str, texts: Any) -> None:
    if not isinstance(texts, Mapping):
        raise ConversionFailed(f"invalid metadata.{name} of type {_go_type(texts)} in converted object")
    for key, value in texts.items():
        if not isinstance(value, str):
            text = f"metadata.{name}[{key}] must be a string, but is {_go_type(value)} in converted object"
            raise ConversionFailed(text)


def _go_type(value: Any) -> str:
    """The type of a decoded JSON value as Go names it."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, Mapping):
        return "map[string]interface {}"
    names = {int: "int64", float: "float64", str: "string", list: "[]interface {}"}
    return next(name for kind, name in names.items() if isinstance(value, kind))
