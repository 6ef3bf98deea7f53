"""Fields that a server drops: those of disabled features and of later releases.

Which field belongs to which feature gate is a table; what a release does not know yet is told by its schemas. Both are
made into one tree for each kind, with nothing in it but the ways to such fields: kinds that have none cost nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import repeat
from typing import Any, Final

from simkit.meta import datasets
from simkit.meta.objects import Object
from simkit.schema.definitions import Definitions, definitions
from simkit.schema.feature_gates import is_enabled, parse_feature_gates
from simkit.schema.releases import BASE, RELEASES, minor_of
from simkit.schema.structural import Schema

Place = tuple[str | int, ...]
"""The names and indexes that lead to a field."""
_EACH: Final = "*"
"""The step of a path for every key of a map."""
_UNTOUCHED: Final = frozenset({"StatefulSetSpec.volumeClaimTemplates", "PersistentVolumeClaimTemplate.spec"})
"""Parts from which kube-apiserver drops nothing but what it does not know: fields of claims go when the claim is
created from them."""
_PLANS: Final = frozenset({"JobTemplateSpec.spec", "ContainerStatus.resources"})
"""Parts of which kube-apiserver checks only what they hold, such as pod templates. Their own fields are dropped when
the object is created from them, or not at all."""


@dataclass(frozen=True, slots=True)
class DisabledField:
    """One field to drop, by its type and name, such as ``PodSpec.hostUsers``."""

    name: str
    instead: Any = None
    """The value in place of a dropped field; None: no value."""
    null: bool = False
    """True if the field stays as null: Go writes it even where it is nil."""
    with_holder: bool = False
    """True if what holds it goes too, where nothing else is left there."""
    with_whole_holder: bool = False
    """True if what holds it goes too, with all that is there."""
    by_main: bool = False
    """True if writes of the main resource drop it, even if it is stored, and writes of the status do not."""
    on_create: bool = False
    """True if only new objects lose it."""
    unknown: bool = False
    """True if the release does not know the field: no client can have written it, and none sees it."""


@dataclass(frozen=True, slots=True)
class Node:
    """The disabled fields below a value: fields to drop, and fields to descend into."""

    leaves: Mapping[str, DisabledField] = field(default_factory=dict)
    below: Mapping[str, Node] = field(default_factory=dict)
    names: frozenset[str] = field(init=False)
    """The names of the fields to drop."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", frozenset(self.leaves))


gated_fields: Final[Callable[[], Mapping[str, Mapping[str, Any]]]] = datasets.lazy("api/releases/gated-fields.json")
"""The gates of each field, by type and field: ``gates`` (one must be on) and ``instead`` (the value otherwise)."""


class FieldGates:
    """The disabled fields of a release under a set of gates; the tree of a kind is made once.

    Examples
    --------
    >>> from simkit.schema.catalogue import Catalogue
    >>> pod = Catalogue.for_release("1.30").lookup("pods")
    >>> schema = Catalogue.for_release("1.30").schema(pod.gvk)
    >>> gates = FieldGates("1.30", parse_feature_gates({}).values)
    >>> gates.of(schema).without({"spec": {"hostUsers": False, "nodeName": "a"}})
    {'spec': {'nodeName': 'a'}}
    """

    def __init__(self, release: str, values: Mapping[str, bool]) -> None:
        self.release = release
        self.usual = release == BASE and values == parse_feature_gates({}).values
        """True if no field can be disabled, since release and gates are the defaults of 1.30."""
        self.knows_all = minor_of(release) >= minor_of(BASE)
        """False if schemas have fields that the release does not know."""
        self._off = {
            name: DisabledField(
                name,
                row.get("instead"),
                "null" in row and minor_of(row["null"]) >= minor_of(release),
                row.get("withHolder", False),
                row.get("withWholeHolder", False),
                minor_of(row.get("byMain", "1.0")) >= minor_of(release),
                row.get("onCreate", False),
            )
            for name, row in gated_fields().items()
            if minor_of(row.get("since", RELEASES[0])) <= minor_of(release)
            and not any(is_enabled(gate, release, values) for gate in row["gates"])
        }
        self._here = definitions(release) if minor_of(release) < minor_of(BASE) else None
        self._nodes: dict[str, Node | None] = {}
        self._lock = threading.RLock()

    @staticmethod
    def shared(release: str, values: Mapping[str, bool]) -> FieldGates:
        """The disabled fields for these values; always the same object, so that forks share their trees."""
        return _shared(release, frozenset(values.items()))

    def of(self, schema: Schema) -> DisabledFields:
        """The disabled fields of a kind; for releases before 1.30 by the schema of 1.30."""
        if self._here is not None and schema.name in definitions(BASE).rows:
            schema = definitions(BASE).node(schema.name)
        with self._lock:  # a type counts as known from its first look on, for types within themselves
            return DisabledFields(self._node(schema))

    def _node(self, schema: Schema) -> Node | None:
        """The tree below a schema; None if no field is disabled. Recursive types are not followed."""
        if schema.items is not None:
            return self._node(schema.items)
        if schema.values is not None:
            inner = self._node(schema.values)
            return Node(below={_EACH: inner}) if inner is not None else None
        if not schema.name:
            return None
        if schema.name not in self._nodes:
            self._nodes[schema.name] = None
            self._nodes[schema.name] = self._made(schema)
        return self._nodes[schema.name]

    def _made(self, schema: Schema) -> Node | None:
        leaves, below = {}, {}
        for name, child in schema.fields.items():
            full = f"{schema.go_type}.{name}"
            if not _knows(self._here, schema, name):
                leaves[name] = DisabledField(full, unknown=True)
            elif full in self._off:
                leaves[name] = self._off[full]
            elif (inner := self._inner(full, child)) is not None:
                below[name] = inner
        row = self._here.rows.get(schema.name) if self._here is not None else None
        for name in (row or {}).get("fields", {}):  # what 1.30 does not have any more
            full = f"{schema.go_type}.{name}"
            if name not in schema.fields and full in self._off:
                leaves[name] = self._off[full]
        return Node(leaves, below) if leaves or below else None

    def _inner(self, full: str, child: Schema) -> Node | None:
        """The tree below a field; of some, only parts of it count."""
        inner = self._node(child)
        if inner is None or full not in (*_UNTOUCHED, *_PLANS):
            return inner
        return _plan(inner) if full in _PLANS else _unknown(inner)


@lru_cache(maxsize=64)
def _shared(release: str, values: frozenset[tuple[str, bool]]) -> FieldGates:
    return FieldGates(release, dict(values))


def _plan(node: Node) -> Node:
    """The disabled fields of a part whose own fields are stored with every setting of the gates."""
    return Node({name: leaf for name, leaf in node.leaves.items() if leaf.unknown}, node.below)


def _unknown(node: Node) -> Node | None:
    """The part of a tree with fields that the release does not know."""
    leaves = {name: leaf for name, leaf in node.leaves.items() if leaf.unknown}
    parts = {name: _unknown(inner) for name, inner in node.below.items()}
    below = {name: inner for name, inner in parts.items() if inner is not None}
    return Node(leaves, below) if leaves or below else None


def _knows(here: Definitions | None, schema: Schema, name: str) -> bool:
    """True if the release has the field; if it has not even the type, the field counts as known."""
    row = here.rows.get(schema.name) if here is not None else None
    return row is None or name in row.get("fields", {name: None})


@dataclass(frozen=True, slots=True)
class DisabledFields:
    """The disabled fields of one kind."""

    tree: Node | None

    def drop_disabled_fields(self, draft: MutableMapping[str, Any], old: Object | None, subresource: str = "") -> None:
        """Drop fields of disabled features from a draft, unless the stored object uses the feature."""
        if self.tree is None or not _has_any(draft, self.tree):
            return
        changed: MutableMapping[str, Any] = draft
        if old is not None and subresource:  # what is there already, and is not written here, stays
            changed = {name: item for name, item in draft.items() if item is not old.get(name)}
        made = _pruned(changed, self.tree, _Kept(old, self.tree, subresource))
        if made is not changed:
            for name in changed.keys() - made.keys():
                del draft[name]
            draft.update(made)

    def without(self, obj: Object) -> Object:
        """The object without the disabled fields that nobody can have written; the same object if it has none."""
        return _pruned(obj, self.tree, lambda leaf: leaf.by_main) if self.tree is not None else obj

    def without_unknown(self, obj: Object) -> Object:
        """The object without what the release does not know; the same object if it has nothing of it."""
        return _pruned(obj, self.tree, lambda leaf: not leaf.unknown) if self.tree is not None else obj

    def places(self, obj: Object) -> frozenset[Place]:
        """The places of the disabled fields that an object has; O(what it has on the ways to such fields)."""
        if self.tree is None or not _has_any(obj, self.tree):
            return frozenset()
        return frozenset(_places(obj, self.tree))

    def without_added(self, obj: Object, before: Collection[Place]) -> Object:
        """An object without the disabled fields that it did not have before, as before its defaults were set."""
        if self.tree is None or not _has_any(obj, self.tree):
            return obj
        made: Object = _without_added(obj, self.tree, before)
        return made


class _Kept:
    """Tells which disabled fields stay; the stored object is searched for features in use when one of them is met."""

    def __init__(self, old: Object | None, tree: Node, subresource: str) -> None:
        self._old, self._tree, self._subresource = old, tree, subresource
        self._names: frozenset[str] | None = None

    def __call__(self, leaf: DisabledField) -> bool:
        if leaf.unknown or (leaf.on_create and self._old is not None):
            return True
        if leaf.by_main:
            return bool(self._subresource)
        if self._names is None:
            self._names = frozenset(_in_use(self._old, self._tree)) if self._old is not None else frozenset()
        return leaf.name in self._names


def _pruned(value: Any, node: Node, kept: Callable[[DisabledField], bool]) -> Any:
    """The value without the fields; unchanged parts are shared."""
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        made = [_pruned(item, node, kept) for item in value]
        return value if all(new is old for new, old in zip(made, value, strict=True)) else made
    if not isinstance(value, Mapping):
        return value
    changed: dict[str, Any] = {}
    gone = []
    for name, leaf in node.leaves.items():
        if name not in value or kept(leaf):
            continue
        if leaf.instead is None and not leaf.null:
            gone.append(name)
        elif value[name] is not None:
            changed[name] = leaf.instead
    for name, inner in _ways(value, node):
        if _takes_all_along(value[name], inner, kept):
            gone.append(name)
            continue
        new = _pruned(value[name], inner, kept)
        if new is not value[name] and not new and any(leaf.with_holder for leaf in inner.leaves.values()):
            gone.append(name)
        elif new is not value[name]:
            changed[name] = new
    if not changed and not gone:
        return value
    return {name: changed.get(name, item) for name, item in value.items() if name not in gone}


def _has_any(value: Any, node: Node) -> bool:
    """True if a value has a disabled field; most have none, and are looked at for nothing else then."""
    todo = [(value, node)]
    for part, inner in todo:  # which grows meanwhile: calls would take longer than the looks
        if isinstance(part, list):
            todo += zip(part, repeat(inner))
        elif isinstance(part, dict | Mapping):
            if not inner.names.isdisjoint(part):
                return True
            for name, deeper in inner.below.items():
                if name == _EACH:
                    todo += zip(part.values(), repeat(deeper))
                elif name in part:
                    todo.append((part[name], deeper))
        elif isinstance(part, Sequence) and not isinstance(part, str | bytes):
            todo += zip(part, repeat(inner))
    return False


def _places(value: Any, node: Node, path: Place = ()) -> Iterator[Place]:
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for index, item in enumerate(value):
            yield from _places(item, node, (*path, index))
    elif isinstance(value, Mapping):
        for name in node.leaves:
            if name in value:
                yield (*path, name)
        for name, inner in _ways(value, node):
            yield from _places(value[name], inner, (*path, name))


def _without_added(value: Any, node: Node, before: Collection[Place], path: Place = ()) -> Any:
    """The value without the fields that have no place among those before; unchanged parts are shared."""
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        made = [_without_added(item, node, before, (*path, index)) for index, item in enumerate(value)]
        return value if all(new is old for new, old in zip(made, value, strict=True)) else made
    if not isinstance(value, Mapping):
        return value
    gone = [name for name in node.leaves if name in value and (*path, name) not in before]
    ways = ((name, _without_added(value[name], inner, before, (*path, name))) for name, inner in _ways(value, node))
    changed = {name: new for name, new in ways if new is not value[name]}
    if not changed and not gone:
        return value
    return {name: changed.get(name, item) for name, item in value.items() if name not in gone}


def _takes_all_along(value: Any, node: Node, kept: Callable[[DisabledField], bool]) -> bool:
    """True if a value has a field that is dropped with all that stands beside it."""
    leaves = ((name, leaf) for name, leaf in node.leaves.items() if leaf.with_whole_holder and not kept(leaf))
    return isinstance(value, Mapping) and any(value.get(name) for name, _ in leaves)


def _ways(value: Mapping[str, Any], node: Node) -> Iterator[tuple[str, Node]]:
    for name, inner in node.below.items():
        if name == _EACH:
            yield from ((key, inner) for key in value)
        elif name in value:
            yield name, inner


def _in_use(value: Any, node: Node) -> Iterator[str]:
    """The names of disabled fields in a stored object."""
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for item in value:
            yield from _in_use(item, node)
    elif isinstance(value, Mapping):
        for name, leaf in node.leaves.items():
            if leaf.with_whole_holder or value.get(name) not in (None, [], {}, ""):
                yield leaf.name
        for name, inner in _ways(value, node):
            yield from _in_use(value[name], inner)
