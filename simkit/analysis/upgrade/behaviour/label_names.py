"""A label or taint by its name, wherever an object names it: selectors, affinities, tolerations, expressions, texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from simkit.meta.domain import label

_NOT_LOOKED_AT: Final = frozenset(
    (label("last-applied-configuration", "kubectl"), "managedFields", "ownerReferences", "status")
)
_OWN_LABELS: Final = frozenset(("Node", "Event", "ComponentStatus"))
"""Kinds that carry or tell of such names without choosing by them."""
_DATA: Final = frozenset(("ConfigMap", "Secret"))
_PREFERENCE: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_SELECTED: Final = ("metadata", "labels")
_ALTERNATIVES: Final = frozenset(("tolerations", "nodeSelectorTerms", _PREFERENCE))
"""Lists of which one item is enough."""
_DEMANDING: Final = ("In", "Exists", "Gt", "Lt")
_DEEPEST: Final = 60
_BACKSLASH_DOT: Final = r"\."


class NameUse(NamedTuple):
    """One place that names a label or a taint.

    ``role``: toleration, selector (also affinities and expressions), preference, label (the object carries it), text
    (within a longer text, as of a config map). ``text`` is what stands there.
    """

    path: tuple[str, ...]
    role: str
    text: str


def name_uses(obj: Mapping[str, Any], name: str, instead: str = "") -> Iterator[NameUse]:
    """The places of an object that name a label, but for those that name the successor beside it."""
    if obj.get("kind") in _OWN_LABELS:
        return
    in_data = obj.get("kind") in _DATA
    for use in _uses(obj, (), _word(name), _word(instead) if instead else None):
        if in_data and use.role != "label":
            use = use._replace(role="text")
        yield use


@cache
def _word(name: str) -> re.Pattern[str]:
    """The name as a whole word: no longer name with the same beginning or end."""
    plain = rf"(?<![A-Za-z0-9./_-]){re.escape(name)}"
    in_path = rf"(?<![A-Za-z0-9/_-]){re.escape(name.replace('.', _BACKSLASH_DOT))}"  # as parameters of charts name it
    return re.compile(rf"(?:{plain}|{in_path})(?![A-Za-z0-9/_-]|\.[A-Za-z0-9])")


def _uses(value: Any, path: tuple[str, ...], old: re.Pattern[str], new: re.Pattern[str] | None) -> Iterator[NameUse]:
    if len(path) > _DEEPEST:
        return
    if isinstance(value, Mapping):
        mended = new is not None and any(isinstance(name, str) and new.fullmatch(name) for name in value)
        for name, inner in value.items():
            if name in _NOT_LOOKED_AT and (path in ((), ("metadata",), ("metadata", "annotations"))):
                continue
            if isinstance(name, str) and old.fullmatch(name):
                if not mended or _requires_all(path):
                    yield NameUse((*path, name), _role(path), name)
                continue
            yield from _uses(inner, (*path, str(name)), old, new)
    elif isinstance(value, list):
        if new is not None and _is_mended(value, path, old, new):
            return
        for index, inner in enumerate(value):
            yield from _uses(inner, (*path, f"[{index}]"), old, new)
    elif isinstance(value, str) and old.search(value) and not (new is not None and new.search(value)):
        yield NameUse(path, _role(path) if old.fullmatch(value) or len(value) < 1000 else "text", value)


def lines_naming(text: str, name: str, instead: str = "") -> Iterator[tuple[int, str]]:
    """The lines of a template that name a label, with their numbers from 0, unless it names the successor too.

    Comments do not count.
    """
    if name not in text or (instead and _word(instead).search(text)):
        return
    for number, line in enumerate(text.split("\n")):
        if _word(name).search(line.partition(" #")[0]) and not line.lstrip().startswith("#"):
            yield number, line


def _requires_all(path: tuple[str, ...]) -> bool:
    """True if all names of a mapping must match, as in a selector: the successor beside it does not help."""
    return path[-1:] in (("nodeSelector",), ("matchLabels",), ("selector",))


def _is_mended(values: list[Any], path: tuple[str, ...], old: re.Pattern[str], new: re.Pattern[str]) -> bool:
    """True if a list names the successor so that the old name does no harm: as an alternative, or as also excluded."""
    if not _ALTERNATIVES.isdisjoint(path[-1:]):
        return _named_in(values, new)
    if path[-1:] != ("matchExpressions",):
        return False
    demanded = any(
        isinstance(each, Mapping) and each.get("operator") in _DEMANDING and _mentions(each, old, 0) for each in values
    )
    return not demanded and _named_in(values, new)


def _named_in(values: list[Any], name: re.Pattern[str]) -> bool:
    return any(_mentions(each, name, 0) for each in values)


def _mentions(value: Any, name: re.Pattern[str], depth: int) -> bool:
    if depth > _DEEPEST:
        return False
    if isinstance(value, Mapping):
        return any(
            (isinstance(key, str) and name.fullmatch(key)) or _mentions(inner, name, depth + 1)
            for key, inner in value.items()
        )
    if isinstance(value, list):
        return any(_mentions(inner, name, depth + 1) for inner in value)
    return isinstance(value, str) and name.search(value) is not None


def _role(path: tuple[str, ...]) -> str:
    if "tolerations" in path:
        return "toleration"
    if _PREFERENCE in path:
        return "preference"
    if path[-2:] == _SELECTED or path[-2:] == ("metadata", "annotations"):
        return "label"
    return "selector"
