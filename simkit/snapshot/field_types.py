"""The first field of an object whose value does not have the type in the kind's schema.

kube-apiserver refuses such objects when it decodes them, so that none can be in a cluster. Unknown fields and values
out of range are no concern here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupVersion, GroupVersionKind
from simkit.meta.objects import Object
from simkit.schema.catalogue import Catalogue
from simkit.schema.definitions import definitions
from simkit.schema.lifecycle import newest_release
from simkit.schema.releases import RELEASES
from simkit.schema.structural import Schema

_METADATA: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


class Mismatch(NamedTuple):
    """A value of a wrong type: its path, and the right type."""

    path: str
    wanted: str
    value: Any
    steps: tuple[Any, ...] = ()
    """The path as keys and indexes."""

    def __str__(self) -> str:
        return f"{self.path.removeprefix('.')} is {described(self.value)}, not {self.wanted}"


Check = Callable[[Any], Mismatch | None]
"""A check of a non-null value."""


def first_mismatch(obj: Object, release: str) -> Mismatch | None:
    """The first field of a wrong type, or None.

    Of kinds that no release has, only the metadata is looked at.

    Examples
    --------
    >>> role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"}}
    >>> print(first_mismatch({**role, "rules": [{"verbs": "get"}]}, "1.30"))
    rules[0].verbs is text, not a list
    >>> print(first_mismatch({**role, "metadata": {"name": "r", "annotations": ["a"]}}, "1.30"))
    metadata.annotations is a list, not an object
    """
    return _check_of(str(obj["apiVersion"]), str(obj["kind"]), release)(obj)


def without_mismatches(obj: Object, release: str) -> tuple[Object, list[Mismatch]]:
    """The object without the values of wrong types, and what was left out.

    Of an object with more than twenty, nothing but kind and name is left.

    Examples
    --------
    >>> role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"}}
    >>> left, wrong = without_mismatches({**role, "rules": [{"verbs": "get"}, 5]}, "1.30")
    >>> left["rules"], [each.path for each in wrong]
    ([{}], ['.rules[0].verbs', '.rules[1]'])
    """
    found: list[Mismatch] = []
    wrong = first_mismatch(obj, release)
    while wrong is not None:
        found.append(wrong)
        if len(found) > _MANY:
            about = obj.get("metadata")
            named = (
                {key: about[key] for key in ("name", "namespace") if key in about} if isinstance(about, dict) else {}
            )
            return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": named}, found
        obj = _without(obj, wrong.steps)
        wrong = first_mismatch(obj, release)
    return obj, found


_MANY: Final = 20


def _without(value: Any, steps: Sequence[Any]) -> Any:
    """A value without what stands at the end of a path."""
    step, rest = steps[0], steps[1:]
    pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
    kept = [(key, _without(item, rest) if key == step else item) for key, item in pairs if rest or key != step]
    return dict(kept) if isinstance(value, Mapping) else [item for _, item in kept]


@cache
def _check_of(api_version: str, kind: str, release: str) -> Check:
    node = _schema(GroupVersionKind(*GroupVersion.parse(api_version), kind), release)
    if node is not None:
        return _Fields(node)
    metadata = _Fields(definitions(release).node(_METADATA))
    return lambda obj: _within(".metadata", "metadata", metadata(obj.get("metadata") or {}))


def _schema(gvk: GroupVersionKind, release: str) -> Schema | None:
    """The schema of a built-in kind in the release, or in the newest one that has the kind."""
    for each in (release, newest_release(gvk)):
        try:
            if each in RELEASES:
                return Catalogue.for_release(each, everything=True).schema(gvk)
        except SimkitError:
            continue
    return None


class _Fields:
    """The check of an object with named fields; the check of each field is made on first use."""

    __slots__ = ("_checks", "_node")

    def __init__(self, node: Schema) -> None:
        self._node = node
        self._checks: dict[str, Check] = {}

    def __call__(self, value: Any) -> Mismatch | None:
        if value.__class__ is not dict and not isinstance(value, Mapping):
            return Mismatch("", "an object", value)
        checks = self._checks
        for name, item in value.items():
            if item is None:
                continue
            check = checks.get(name) or checks.setdefault(name, self._check(name))
            if check is _text and item.__class__ is str:  # the most frequent field, without a call
                continue
            wrong = check(item)
            if wrong is not None:
                return _within(f".{name}", name, wrong)
        return None

    def _check(self, name: str) -> Check:
        node = self._node.fields.get(name)
        return _anything if node is None else _check(node)


@cache
def _fields(node: Schema) -> _Fields:
    return _Fields(node)


def _check(node: Schema) -> Check:
    if node.preserve_unknown or node.int_or_string or node.format in ("raw", "json", "quantity", "int-or-string"):
        return _scalar if node.format in ("quantity", "int-or-string") else _anything
    if node.type == "array":
        return _list_of(_check(node.items) if node.items is not None else _anything)
    if "fields" in node.row:
        return _fields(node)
    if node.type == "object":
        return _map_of(_check(node.values) if node.values is not None else _anything)
    return _SCALARS.get(node.type, _anything)


def _list_of(check: Check) -> Check:
    def checked(value: Any) -> Mismatch | None:
        if value.__class__ is not list and not isinstance(value, list | tuple):
            return Mismatch("", "a list", value)
        for number, item in enumerate(value):
            wrong = check(item)
            if wrong is not None:
                return _within(f"[{number}]", number, wrong)
        return None

    return checked


def _map_of(check: Check) -> Check:
    def checked(value: Any) -> Mismatch | None:
        if value.__class__ is not dict and not isinstance(value, Mapping):
            return Mismatch("", "an object", value)
        if check is _anything:
            return None
        for name, item in value.items():
            wrong = None if item is None else check(item)
            if wrong is not None:
                return _within(f"[{name}]", name, wrong)
        return None

    return checked


def _within(shown: str, step: Any, wrong: Mismatch | None) -> Mismatch | None:
    return wrong and wrong._replace(path=shown + wrong.path, steps=(step, *wrong.steps))


def _anything(value: Any) -> Mismatch | None:
    return None


def _text(value: Any) -> Mismatch | None:
    return None if isinstance(value, str) else Mismatch("", "text", value)


def _boolean(value: Any) -> Mismatch | None:
    return None if value is True or value is False else Mismatch("", "true or false", value)


def _number(value: Any) -> Mismatch | None:
    return None if isinstance(value, int | float) and not isinstance(value, bool) else Mismatch("", "a number", value)


def _scalar(value: Any) -> Mismatch | None:
    return None if isinstance(value, str) or _number(value) is None else Mismatch("", "a number or text", value)


_SCALARS: Final[Mapping[str, Check]] = {"string": _text, "boolean": _boolean, "integer": _number, "number": _number}


def described(value: Any) -> str:
    """The type of a JSON value, in words."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "text"
    if isinstance(value, int | float):
        return "a number"
    return "an object" if isinstance(value, Mapping) else "a list"
