"""JSON merge patch (RFC 7386), and the refusal of patches of all kinds.

Upstream: k8s.io/apimachinery/pkg/api/errors/errors.go and k8s.io/apiserver/pkg/endpoints/handlers/patch.go, release
1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from simkit.meta.errors import StatusError
from simkit.meta.go_json import go_kind

NO_PATCH: Final = "Invalid JSON Patch"


def merge_patch(document: Any, patch: Any) -> Any:
    """The document with a merge patch applied; neither argument is changed.

    Examples
    --------
    >>> merge_patch({"a": {"b": 1, "c": 2}}, {"a": {"b": None, "d": 3}})
    {'a': {'c': 2, 'd': 3}}

    Notes
    -----
    Shares what it does not change with both arguments. Null is dropped from objects that stand in lists of the patch,
    where the RFC would keep it.

    References
    ----------
    RFC 7386; specification, "Updating objects".
    """
    if not isinstance(patch, dict):
        return patch if isinstance(document, dict) else without_nulls(patch)
    merged = dict(document) if isinstance(document, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        elif name in merged:
            merged[name] = merge_patch(merged[name], value)
        else:
            merged[name] = without_nulls(value)
    return merged


def patch_between(before: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The smallest merge patch that makes one object of another; empty where both are equal.

    Examples
    --------
    >>> patch_between({"a": {"b": 1, "c": 2}, "d": [1]}, {"a": {"b": 1}, "d": [2]})
    {'a': {'c': None}, 'd': [2]}
    """
    made: dict[str, Any] = {name: None for name in before if name not in wanted}
    for name, value in wanted.items():
        old = before.get(name)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            inner = patch_between(old, value)
            if inner:
                made[name] = inner
        elif old != value:
            made[name] = value
    return made


def without_nulls(value: Any) -> Any:
    """The value without fields that are null, at any depth; null elements of lists stay."""
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def checked_merge_patch(patch: Any, *, loose: bool = False) -> Any:
    """A decoded body as a merge patch. Raises a 400 PatchError for anything but an object, or, if ``loose``, a list."""
    if patch is None or (loose and not isinstance(patch, dict | list)):
        raise malformed(NO_PATCH)
    if not isinstance(patch, dict) and not loose:
        into = "map[string]interface {}"
        raise malformed(f"error decoding patch: json: cannot unmarshal {go_kind(patch)} into Go value of type {into}")
    return patch


GENERIC: Final = "the server rejected our request due to an error in our request"
"""The only text that clients get for a patch that does not fit the object."""


class PatchError(StatusError):
    """A patch that cannot be applied. ``detail`` is the reason, even if the Status does not say it."""

    def __init__(
        self, code: int, reason: str, message: str, detail: str = "", *, details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(code, reason, message, details=details)
        self.detail = detail or message


def malformed(message: str) -> PatchError:
    """The 400 error of a patch with a wrong form."""
    return PatchError(400, "BadRequest", message)


def unfitting(detail: str) -> PatchError:
    """The 422 error of a patch that does not fit the object. The Status does not contain the detail."""
    return PatchError(422, "Invalid", GENERIC, detail, details={})


def failed(message: str) -> PatchError:
    """The 500 error without a reason that kube-apiserver passes on unchanged."""
    return PatchError(500, "", message)
