"""Schemas of custom resources made structural, as ``apiextensions.k8s.io/v1`` demands them.

Follows the rules of ``k8s.io/apiextensions-apiserver/pkg/apiserver/schema/validation.go``, release 1.30: every node has
a type, junctors say nothing about types, some keywords are not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from simkit.meta.objects import Draft, copied

PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_FORBIDDEN: Final = (
    *("definitions", "dependencies", "deprecated", "discriminator", "id", "patternProperties", "readOnly"),
    *("writeOnly", "xml", "$ref", "$schema", "additionalItems"),
)
_NOT_IN_JUNCTORS: Final = ("description", "type", "default", "additionalProperties", "nullable", "title", INT_OR_STRING)
_JUNCTORS: Final = ("allOf", "anyOf", "oneOf")
_ROOT_FIELDS: Final = {"apiVersion": "string", "kind": "string"}
_INTEGER_OR_STRING: Final = frozenset(("integer", "string"))


def structural(schema: Mapping[str, Any] | None, *, preserve: bool) -> tuple[Draft, tuple[str, ...]]:
    """A structural schema that takes what the given one took, and sentences about what could not be kept.

    Parameters
    ----------
    preserve
        Whether fields that the schema does not name are kept, as v1beta1 does unless told otherwise.

    Examples
    --------
    >>> structural(None, preserve=True)[0]
    {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True}
    >>> structural({"properties": {"spec": {"properties": {"size": {"minimum": 1}}}}}, preserve=False)[0]["type"]
    'object'
    """
    root: Draft = copied(schema or {})
    maker = _Maker()
    maker.node(root, "")
    root.pop("type", None)
    _tidy_root(root, maker)
    if preserve or not root.get("properties"):
        root[PRESERVE] = True
    return {"type": "object", **root}, tuple(dict.fromkeys(maker.notes))


def _tidy_root(root: Draft, maker: _Maker) -> None:
    fields = root.get("properties")
    if not isinstance(fields, dict):
        return
    for name, kind in _ROOT_FIELDS.items():
        if isinstance(fields.get(name), dict):
            fields[name]["type"] = kind
    metadata = fields.get("metadata")
    if isinstance(metadata, dict):
        named = metadata.get("properties")
        kept = {name: node for name, node in named.items() if name in ("name", "generateName")} if named else {}
        if named and len(kept) < len(named):
            maker.notes.append("metadata: only name and generateName can be restricted")
        fields["metadata"] = {"type": "object", **({"properties": kept} if kept else {})}


class _Maker:
    """Walks over a schema and changes it in place."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def node(self, node: Draft, path: str) -> None:
        """Make one node outside of junctors structural."""
        self._drop_forbidden(node, path)
        if _is_int_or_string(node):
            self._int_or_string(node)
        for name in _JUNCTORS:
            for part in node.get(name) or ():
                self._hoist(node, part)
                self._junctor(part)
        if isinstance(node.get("not"), dict):
            self._hoist(node, node["not"])
            self._junctor(node["not"])
        self._drop_empty_junctors(node)
        self._children(node, path)
        self._type(node, path)

    def _children(self, node: Draft, path: str) -> None:
        fields, values, items = node.get("properties"), node.get("additionalProperties"), node.get("items")
        if isinstance(fields, dict):
            for name, inner in fields.items():
                fields[name] = inner = inner if isinstance(inner, dict) else {}
                self.node(inner, f"{path}.{name}" if path else str(name))
        if fields and values is not None:
            del node["additionalProperties"]
            if values is not False:
                node[PRESERVE] = True
        elif values is False or values is True:
            del node["additionalProperties"]
            if values:
                node[PRESERVE] = True
        elif isinstance(values, dict):
            self.node(values, f"{path}.*")
        if isinstance(items, list):
            self.notes.append(f"{path}: items of different kinds by position cannot be told")
            node["items"] = items = {PRESERVE: True}
        if isinstance(items, dict):
            self.node(items, f"{path}[*]")

    def _drop_forbidden(self, node: Draft, path: str) -> None:
        for name in _FORBIDDEN:
            if name in node:
                del node[name]
                self.notes.append(f"{path or 'the root'}: {name} is not allowed, and was left out")
        if node.pop("uniqueItems", False):
            items = node.get("items")
            if isinstance(items, dict) and items.get("type") in ("string", "integer", "number", "boolean"):
                node.setdefault("x-kubernetes-list-type", "set")
            else:
                self.notes.append(f"{path}: uniqueItems is not allowed, and was left out")
        if node.get(PRESERVE) is False:
            del node[PRESERVE]

    def _int_or_string(self, node: Draft) -> None:
        node[INT_OR_STRING] = True
        node.pop("type", None)
        node.pop("format", None)
        for name in ("anyOf", "oneOf"):
            if name in node:
                node["anyOf"] = [{"type": "integer"}, {"type": "string"}]
                if name != "anyOf":
                    del node[name]

    def _hoist(self, outer: Draft, part: Any) -> None:
        """Says outside of a junctor which fields it speaks of: what only it names would be pruned."""
        if not isinstance(part, dict):
            return
        if outer.get("type") is None and isinstance(part.get("type"), str) and INT_OR_STRING not in outer:
            outer["type"] = part["type"]
        for name, inner in (part.get("properties") or {}).items():
            fields = outer.setdefault("properties", {})
            known = fields.setdefault(name, {})
            if isinstance(known, dict):
                self._hoist(known, inner)
        if isinstance(part.get("items"), dict):
            known = outer.setdefault("items", {})
            if isinstance(known, dict):
                self._hoist(known, part["items"])
        for name in _JUNCTORS:
            for inner in part.get(name) or ():
                self._hoist(outer, inner)

    def _junctor(self, part: Any) -> None:
        if not isinstance(part, dict):
            return
        for name in (*_NOT_IN_JUNCTORS, *_FORBIDDEN):
            part.pop(name, None)
        for inner in (part.get("properties") or {}).values():
            self._junctor(inner)
        self._junctor(part.get("items"))
        self._junctor(part.get("not"))
        for name in _JUNCTORS:
            for inner in part.get(name) or ():
                self._junctor(inner)

    def _drop_empty_junctors(self, node: Draft) -> None:
        """Alternatives of which one allows everything, now that types are gone from them, say nothing."""
        if node.get(INT_OR_STRING):
            if "anyOf" in node:
                node["anyOf"] = [{"type": "integer"}, {"type": "string"}]
            return
        for name in ("anyOf", "oneOf"):
            if name in node and any(not part for part in node[name]):
                del node[name]
        if "allOf" in node:
            node["allOf"] = [part for part in node["allOf"] if part]
            if not node["allOf"]:
                del node["allOf"]
        if node.get("not") == {}:
            del node["not"]

    def _type(self, node: Draft, path: str) -> None:
        kind = node.get("type")
        if isinstance(kind, list):
            self.notes.append(f"{path}: several types cannot be told")
            del node["type"]
            kind = None
        if kind == "any":
            del node["type"]
            kind = None
        if kind:
            if kind == "object" and not {"properties", "additionalProperties", PRESERVE} & node.keys():
                node[PRESERVE] = True
            if kind == "array" and "items" not in node:
                node["items"] = {PRESERVE: True}
            return
        if node.get(INT_OR_STRING):
            return
        if "properties" in node or "additionalProperties" in node or "required" in node:
            node["type"] = "object"
        elif "items" in node:
            node["type"] = "array"
        elif {"pattern", "minLength", "maxLength"} & node.keys() or _texts_only(node.get("enum")):
            node["type"] = "string"
        else:
            node[PRESERVE] = True


def _texts_only(values: Any) -> bool:
    return isinstance(values, list) and bool(values) and all(isinstance(each, str) for each in values)


def _is_int_or_string(node: Mapping[str, Any]) -> bool:
    if node.get(INT_OR_STRING) or node.get("format") == "int-or-string":
        return True
    for name in ("anyOf", "oneOf"):
        types = [part.get("type") for part in node.get(name) or () if isinstance(part, dict)]
        if len(types) == 2 and set(types) == _INTEGER_OR_STRING and node.get("type") in (None, "string"):
            return True
    return node.get("type") in (["integer", "string"], ["string", "integer"])
