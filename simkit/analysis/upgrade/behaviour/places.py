"""Where objects have things: paths of fields, pod templates, and labels or taints by their names.

Many paths are looked for together, so that they cost one walk over what they have in common.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Generic, NamedTuple, TypeVar

from simkit.logic.podsecurity.evaluate import POD_TEMPLATES
from simkit.meta.domain import label
from simkit.meta.objects import Object, at, controller_of

T = TypeVar("T")


@dataclass(slots=True)
class PathTree(Generic[T]):
    """Paths with something at their ends."""

    ends: list[T] = field(default_factory=list)
    children: dict[str, PathTree[T]] = field(default_factory=dict)

    def add(self, path: tuple[str, ...], end: T) -> None:
        """Put something at the end of a path. ``*`` is any item or key, ``name*`` any key that begins so."""
        node = self
        for step in path:
            node = node.children.setdefault(step, PathTree())
        node.ends.append(end)

    def matches(self, value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[T, tuple[str, ...], Any]]:
        """The ends of the paths that a value has: the end, the path with its indexes, the value there.

        Examples
        --------
        >>> tree = PathTree()
        >>> tree.add(("spec", "ports", "*", "name"), "named")
        >>> [(end, path_text(path), name) for end, path, name in tree.matches({"spec": {"ports": [{"name": "web"}]}})]
        [('named', 'spec.ports[0].name', 'web')]
        """
        for end in self.ends:
            yield end, path, value
        for step, node in self.children.items():
            for name, inner in _children(value, step):
                yield from node.matches(inner, (*path, name))


def _children(value: Any, step: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        if not step.endswith("*"):
            if value.get(step) is not None:
                yield step, value[step]
            return
        start = step[:-1]
        yield from ((name, inner) for name, inner in value.items() if isinstance(name, str) and name.startswith(start))
    elif step == "*" and isinstance(value, list):
        yield from ((f"[{index}]", inner) for index, inner in enumerate(value))


def path_text(path: tuple[str, ...]) -> str:
    """A path as people write it; keys with dots in brackets.

    Examples
    --------
    >>> path_text(("metadata", "annotations", "example.com/a", "[0]"))
    'metadata.annotations[example.com/a][0]'
    """
    text = ""
    for step in path:
        if step.startswith("["):
            text += step
        elif "." in step or "/" in step:
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


_TEMPLATES: Final = {"pods": (), **{each.resource: path for each, path in POD_TEMPLATES.items()}}
"""The path to the template in each built-in resource."""
_BUILT_IN: Final = frozenset(("v1", "apps", "batch", "extensions"))
_MARK: Final = b'"containers":['
_DEEPEST_TEMPLATE: Final = 20


def pod_templates(obj: Object, body: bytes) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Each pod or template of an object with its path. Pods that something controls, and revisions, are left to what
    makes them.

    ``body`` is the object's text: custom resources without containers in it are not looked through.
    """
    kind, api_version = str(obj.get("kind")), str(obj.get("apiVersion"))
    path = _TEMPLATES.get(f"{kind.lower()}s") if api_version.partition("/")[0] in _BUILT_IN else None
    if path is not None:
        found = at(obj, *path)
        if isinstance(found, Mapping) and not (kind == "Pod" and controller_of(obj) is not None):
            yield path, found
    elif kind != "ControllerRevision" and (_MARK in body or not body):
        yield from _nested(obj, ())


def _nested(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """The pod templates in an object of another kind: values whose spec has containers with images."""
    if len(path) > _DEEPEST_TEMPLATE:
        return
    if isinstance(value, Mapping):
        if _has_containers(value.get("spec")):
            yield path, value
            return
        for name, inner in value.items():
            yield from _nested(inner, (*path, str(name)))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _nested(inner, (*path, f"[{index}]"))


def _has_containers(spec: Any) -> bool:
    containers = spec.get("containers") if isinstance(spec, Mapping) else None
    return isinstance(containers, list) and any(isinstance(each, Mapping) and "image" in each for each in containers)


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
