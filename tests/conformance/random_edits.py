"""Random edits: an object of any kind that several managers create, apply, update and patch with parts of it changed.

A value that replaces another one is taken from the other objects of the kinds, or made from the schema; half of the
writes are dry runs, so that the object stays valid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final

from simkit.meta.names import GroupVersionKind
from simkit.meta.objects import Object, group_version_of, name_of
from simkit.schema.catalogue import Catalogue
from simkit.schema.structural import Schema
from tests.conformance.conversation import Step
from tests.conformance.random_steps import NAMESPACE

_TEXTS: Final = ("", "Not_Valid!", "a" * 254, "1.2.3.4", "a/b", "-5", "..", "/abs", " ", "true", "10.0.0.0/8", "::1", "1Gi",
                 "0.5", "1e3", "example.com/x", "*", "*.example.com", "é", "a\nb", "Always", "TCP", "http://x", "5%", "x")  # fmt: skip
_NUMBERS: Final = (-1, 0, 1, 2, 99, 101, 65535, 65536, 2147483647, 3000000000)
_TIMES: Final = ("2020-01-01T00:00:00Z", "x", "", "2020-01-01T00:00:00.123456Z")
_MANAGERS: Final = ("one", "two", "three")
_TYPES: Final[Mapping[str, str]] = {
    "apply": "application/apply-patch+yaml",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
_META: Final[Sequence[Mapping[str, Any]]] = (
    {},
    {"labels": {"a": "b"}},
    {"labels": {"a": "c", "d": "e"}, "annotations": {"x": ""}},
    {"finalizers": ["a.example/b"]},
)
_STEPS: Final = 12


class RandomEdits:
    """One conversation about an object. ``others`` are objects whose values may be taken."""

    def __init__(self, catalogue: Catalogue, obj: Object, others: Sequence[Object], seed: str) -> None:
        kind = GroupVersionKind(*group_version_of(obj), str(obj["kind"]))
        self._random, self._others = Random(seed), others
        self._schema, resource = catalogue.schema(kind), catalogue.kind(kind)
        assert resource is not None
        name = "x" if resource.namespaced or NAMESPACE in name_of(obj) else f"{NAMESPACE}-x"
        if NAMESPACE in name_of(obj) and not resource.namespaced:
            name = name_of(obj)
        scope = f"/namespaces/{NAMESPACE}" if resource.namespaced else ""
        self._object: dict[str, Any] = {**obj, "metadata": {"name": name}}
        self._path, self._namespaced = f"{resource.path}{scope}/{resource.resource}", resource.namespaced

    def steps(self) -> Iterator[Step]:
        """The requests, the last of which remove the object."""
        if self._namespaced:
            space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
            yield {"method": "POST", "path": "/api/v1/namespaces", "body": space}
        yield {"method": "POST", "path": f"{self._path}?fieldManager=one", "body": self._object}
        place = f"{self._path}/{self._object['metadata']['name']}"
        for _ in range(_STEPS):
            yield self._step(place)
        yield self._patch(place, "merge", {"metadata": {"finalizers": None}})
        yield {"method": "DELETE", "path": place, "body": {"gracePeriodSeconds": 0}}

    def _step(self, place: str) -> Step:
        chosen = self._random.choice(
            ("create", "update", "update", "status", "apply", "apply", "apply", "merge", "strategic")
        )
        query = f"?fieldManager={self._random.choice(_MANAGERS)}"
        query += self._random.choice(("", "&dryRun=All", "&dryRun=All&fieldValidation=Strict"))
        edited = self._edited()
        if chosen == "create":
            named = {**edited, "metadata": {**edited["metadata"], "name": f"{edited['metadata']['name']}y"}}
            return {"method": "POST", "path": f"{self._path}?dryRun=All", "body": named}
        if chosen == "apply":
            query += self._random.choice(("", "&force=true"))
            return self._patch(place + query, chosen, {**self._part(edited), "apiVersion": edited["apiVersion"]})
        if chosen in _TYPES:
            return self._patch(place + query, chosen, self._part(edited))
        status = (self._schema.fields or {}).get("status")
        if chosen == "status" and status is not None:
            made = {**self._object, "status": self._edit(status, self._object.get("status") or self._made(status))}
            return {"method": "PUT", "path": f"{place}/status{query}", "body": made}
        return {"method": "PUT", "path": place + query, "body": edited}

    def _patch(self, place: str, kind: str, body: Any) -> Step:
        return {"method": "PATCH", "path": place, "headers": {"Content-Type": _TYPES[kind]}, "body": body}

    def _part(self, obj: Mapping[str, Any]) -> dict[str, Any]:
        """Some of the fields of an object, and what names it."""
        needed = ("apiVersion", "kind", "metadata")
        return {name: value for name, value in obj.items() if name in needed or self._random.random() < 0.8}

    def _edited(self) -> dict[str, Any]:
        made: Any = self._object
        for _ in range(self._random.choice((0, 1, 1, 2))):
            made = self._edit(self._schema, made)
        head = {name: self._object[name] for name in ("apiVersion", "kind")}
        return {**made, **head, "metadata": {**self._object["metadata"], **self._random.choice(_META)}}

    def _edit(self, schema: Schema, value: Any, depth: int = 0) -> Any:
        """A value with one part changed, added or left out."""
        if schema.fields and isinstance(value, Mapping):
            outside = ("apiVersion", "kind", "metadata", "status") if depth == 0 and schema is self._schema else ()
            name = self._random.choice([name for name in value if name not in outside] or [""])
            if name not in schema.fields or self._random.random() < 0.2:
                name = self._random.choice([name for name in schema.fields if name not in outside] or [""])
            if name not in schema.fields or (name in value and self._random.random() < 0.2):
                return {key: item for key, item in value.items() if key != name}
            if name in value and self._random.random() < 0.7:
                return {**value, name: self._edit(schema.fields[name], value[name], depth + 1)}
            return {**value, name: self._taken(name, schema.fields[name])}
        if schema.items is not None and isinstance(value, list) and value:
            at = self._random.randrange(len(value))
            ways: tuple[list[Any], ...] = ([], value[:at] + value[at + 1 :], [*value, value[at]], value[::-1])
            if self._random.random() < 0.3:
                return self._random.choice(ways)
            return [*value[:at], self._edit(schema.items, value[at], depth + 1), *value[at + 1 :]]
        return self._made(schema)

    def _taken(self, name: str, schema: Schema) -> Any:
        """The value of a field in another object, or a new one."""
        found = [
            each[name]
            for other in self._others
            for each in (other, other.get("spec"))
            if isinstance(each, Mapping) and name in each
        ]
        return self._random.choice(found) if found and self._random.random() < 0.6 else self._made(schema)

    def _made(self, schema: Schema, depth: int = 0) -> Any:
        """A value of a schema."""
        if schema.fields and depth < 5:
            names = [name for name in schema.fields if name in schema.required or self._random.random() < 0.3][:6]
            return {name: self._made(schema.fields[name], depth + 1) for name in names}
        if schema.items is not None and depth < 5:
            return [self._made(schema.items, depth + 1) for _ in range(self._random.choice((0, 1, 1, 2)))]
        if schema.type == "object" and depth < 5:
            key = self._random.choice(("a", "bad key!", "x.example/z", "", "cpu"))
            return {key: self._made(schema.values, depth + 1) if schema.values is not None else "b"}
        return self._leaf(schema)

    def _leaf(self, schema: Schema) -> Any:
        if schema.enum and self._random.random() < 0.6:
            return self._random.choice(list(schema.enum))
        if schema.format in ("date-time", "micro-time"):
            return self._random.choice(_TIMES)
        if schema.type in ("integer", "number") or (schema.int_or_string and self._random.random() < 0.5):
            return self._random.choice(_NUMBERS)
        return self._random.random() < 0.5 if schema.type == "boolean" else self._random.choice(_TEXTS)
