"""Random custom resources: conversations in which a kind is defined with a random schema, and objects of it written.

A schema has types, bounds, formats, defaults, lists of each type and rules; objects fit it or do not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final

from tests.conformance.conversation import Step
from tests.conformance.random_steps import NAMESPACE, OWN_NAMESPACE

_GROUP: Final = f"{NAMESPACE}.example.com"
_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_PATH: Final = f"/apis/{_GROUP}/v1/namespaces/{NAMESPACE}/things"
_FORMATS: Final = (
    "date-time",
    "date",
    "byte",
    "uuid",
    "email",
    "ipv4",
    "ipv6",
    "cidr",
    "uri",
    "duration",
    "hostname",
    "mac",
    "other",
)
_TEXTS: Final = (
    "",
    "a",
    "abc",
    "ABC",
    "10",
    "1h",
    "2024-04-17T00:00:00Z",
    "2024-04-17",
    "YWJj",
    "a@example.com",
    "1.2.3.4",
    "::1",
    "10.0.0.0/8",
    "http://example.com/a",
    "3c9e7f4e-8f0b-4a3e-9d0c-1e2f3a4b5c6d",
    "a.example.com",
    "\u00e4\u00df\U0001f600",
)
_NUMBERS: Final = (0, 1, -1, 2, 3, 10, 2**31, 2**40, 1.5, -0.25, 1e300)
_RULES: Final[Mapping[str, Sequence[str]]] = {
    "string": ("self.size() < 3", "self.startsWith('a')", "self == oldSelf", "self.matches('^[a-z]*$')", "self != ''"),
    "integer": ("self >= 0", "self % 2 == 0", "self == oldSelf", "self < 100"),
    "number": ("self >= 0.0", "self < 2.0"),
    "boolean": ("self", "!self || oldSelf"),
    "array": ("self.size() < 2", "self.all(x, true)", "oldSelf.size() <= self.size()"),
    "object": ("has(self.a) || has(self.b)", "!has(self.c)", "size(self) < 3", "self == oldSelf"),
}
_ODD: Final[Sequence[Any]] = (None, "text", 7, 1.5, True, [], {}, ["a"], {"a": 1}, [None], {"a": None})
_FIELDS: Final = ("a", "b", "c", "d")
_OPTIONS: Final = ("", "", "?fieldValidation=Strict", "?fieldValidation=Warn", "?fieldValidation=Ignore", "?dryRun=All")


class RandomCustom:
    """The steps of one conversation about a custom kind.

    Parameters
    ----------
    seed
        The same seed gives the same steps.
    """

    def __init__(self, seed: str) -> None:
        self._random = Random(seed)
        self._schema = {"type": "object", "properties": {"spec": self._object(0), "status": {"type": "object"}}}
        if self._random.random() < 0.3:
            self._schema["properties"]["status"] = self._object(1)  # type: ignore[index]

    def steps(self, most: int = 14) -> Iterator[Step]:
        """The requests in order: a namespace, a definition, and writes of two objects."""
        yield OWN_NAMESPACE
        yield {"method": "POST", "path": _DEFINITIONS, "body": self._definition(), "ignore": ["body.status"]}
        yield {"method": "GET", "path": _PATH, "retry": 40, "compare": "status"}
        choices: Sequence[Callable[[], Step]] = (
            self._create,
            self._create,
            self._replace,
            self._merge,
            self._merge,
            self._json_patch,
            self._apply,
            self._apply,
            self._apply,
            self._status,
            self._read,
        )
        yield self._create()
        for _ in range(most):
            yield self._random.choice(choices)()

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _definition(self) -> Mapping[str, Any]:
        version = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": self._schema},
            "subresources": {"status": {}},
            "additionalPrinterColumns": [
                {"name": "A", "type": self._random.choice(("string", "integer", "date")), "jsonPath": ".spec.a"}
            ],
        }
        spec = {
            "group": _GROUP,
            "names": {"plural": "things", "kind": "Thing"},
            "scope": "Namespaced",
            "versions": [version],
        }
        head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
        return {**head, "metadata": {"name": f"things.{_GROUP}"}, "spec": spec}

    # Schemas

    def _node(self, depth: int) -> dict[str, Any]:
        kinds = ["string", "integer", "number", "boolean", "int-or-string"]
        kinds += ["object", "array", "map", "object", "array"] if depth < 3 else []
        kind = self._random.choice(kinds)
        if kind == "int-or-string":
            return {"x-kubernetes-int-or-string": True}
        made = {
            "string": self._text,
            "integer": self._number,
            "number": self._number,
            "boolean": dict[str, Any],
        }.get(kind)
        if made is not None:
            node = {**made(), "type": kind}
        elif kind == "array":
            node = self._array(depth + 1)
        else:
            node = self._object(depth + 1) if kind == "object" else self._map(depth + 1)
        return self._with_more(node)

    def _with_more(self, node: dict[str, Any]) -> dict[str, Any]:
        """A node perhaps with null, a default or rules."""
        if self._chance(0.15):
            node["nullable"] = True
        if self._chance(0.25):
            node["default"] = self._value(node)
        if self._chance(0.2):
            rules = self._random.sample(_RULES[node["type"]], 1)
            node["x-kubernetes-validations"] = [{"rule": rule, "message": "no"} for rule in rules]
            if node["type"] == "string" and "maxLength" not in node:
                node["maxLength"] = 20
        return node

    def _text(self) -> dict[str, Any]:
        node: dict[str, Any] = {}
        if self._chance(0.3):
            node["format"] = self._random.choice(_FORMATS)
        if self._chance(0.2):
            node["enum"] = self._random.sample(_TEXTS, 3)
        if self._chance(0.2):
            node["pattern"] = self._random.choice(("^a", "[0-9]+$", "^[a-z.]*$"))
        if self._chance(0.2):
            node |= {"minLength": self._random.randint(0, 3), "maxLength": self._random.randint(2, 9)}
        return node

    def _number(self) -> dict[str, Any]:
        node: dict[str, Any] = {}
        if self._chance(0.3):
            node["minimum"] = self._random.choice((0, 1, -1))
            node["exclusiveMinimum"] = self._chance(0.3)
        if self._chance(0.3):
            node["maximum"] = self._random.choice((2, 10, 2**33))
        if self._chance(0.1):
            node["multipleOf"] = self._random.choice((2, 3))
        if self._chance(0.1):
            node["format"] = self._random.choice(("int32", "int64", "double", "float"))
        return node

    def _object(self, depth: int) -> dict[str, Any]:
        names = self._random.sample(_FIELDS, self._random.randint(1, 4))
        node: dict[str, Any] = {"type": "object", "properties": {name: self._node(depth) for name in names}}
        if self._chance(0.3):
            node["required"] = sorted(self._random.sample(_FIELDS, self._random.randint(1, 2)))
        if self._chance(0.1):
            node["x-kubernetes-preserve-unknown-fields"] = True
        if self._chance(0.1):
            node["x-kubernetes-map-type"] = "atomic"
        return node

    def _map(self, depth: int) -> dict[str, Any]:
        node: dict[str, Any] = {"type": "object", "additionalProperties": self._node(depth)}
        return {**node, "maxProperties": self._random.randint(0, 2)} if self._chance(0.3) else node

    def _array(self, depth: int) -> dict[str, Any]:
        kind = self._random.choice(("", "", "atomic", "set", "map"))
        node: dict[str, Any] = {"type": "array"}
        if kind == "map":
            keys = {"k": {"type": "string", **({"default": "a"} if self._chance(0.3) else {})}}
            rest = {"v": self._node(depth)} if self._chance(0.8) else {}
            node["items"] = {"type": "object", "properties": {**keys, **rest}, "required": ["k"]}
            node["x-kubernetes-list-map-keys"] = ["k"]
        elif kind == "set":
            node["items"] = {"type": self._random.choice(("string", "integer"))}
        else:
            node["items"] = self._node(depth)
        if kind:
            node["x-kubernetes-list-type"] = kind
        if self._chance(0.2):
            node |= {"minItems": self._random.randint(0, 1), "maxItems": self._random.randint(1, 3)}
        return node

    # Objects

    def _value(self, node: Mapping[str, Any], odd: float = 0.0) -> Any:
        """A value for a schema; with some chance, here or below, one that need not fit."""
        if self._chance(odd):
            return self._random.choice(_ODD)
        if node.get("x-kubernetes-int-or-string"):
            return self._random.choice((1, "a", "10%"))
        kind = node["type"]
        if kind == "string":
            return self._random.choice(node.get("enum") or _TEXTS)
        if kind in ("integer", "number"):
            numbers = [each for each in _NUMBERS if kind == "number" or isinstance(each, int)]
            return self._random.choice(numbers)
        if kind == "boolean":
            return self._chance(0.5)
        if kind == "array":
            return [self._value(node["items"], odd) for _ in range(self._random.randint(0, 3))]
        if "additionalProperties" in node:
            names = self._random.sample(_FIELDS, self._random.randint(0, 2))
            return {name: self._value(node["additionalProperties"], odd) for name in names}
        found = {name: self._value(each, odd) for name, each in node.get("properties", {}).items() if self._chance(0.7)}
        return {**found, "unknown": 1} if self._chance(odd) else found

    def _thing(self) -> dict[str, Any]:
        head = {"apiVersion": f"{_GROUP}/v1", "kind": "Thing"}
        meta = {"name": self._random.choice("xy"), "namespace": NAMESPACE}
        odd = self._random.choice((0.0, 0.0, 0.1, 0.3))
        return {**head, "metadata": meta, "spec": self._value(self._schema["properties"]["spec"], odd)}  # type: ignore[index]

    def _option(self) -> str:
        return self._random.choice(_OPTIONS)

    def _create(self) -> Step:
        return {"method": "POST", "path": f"{_PATH}{self._option()}", "body": self._thing()}

    def _replace(self) -> Step:
        body = self._thing()
        return {"method": "PUT", "path": f"{_PATH}/{body['metadata']['name']}{self._option()}", "body": body}

    def _patched(self, kind: str, body: Any, options: str) -> Step:
        headers = {"Content-Type": f"application/{kind}"}
        return {
            "method": "PATCH",
            "path": f"{_PATH}/{self._random.choice('xy')}{options}",
            "headers": headers,
            "body": body,
        }

    def _merge(self) -> Step:
        return self._patched("merge-patch+json", {"spec": self._thing()["spec"]}, self._option())

    def _json_patch(self) -> Step:
        name = self._random.choice(_FIELDS)
        value = self._random.choice(_ODD)
        op = self._random.choice(("add", "replace", "remove"))
        return self._patched("json-patch+json", [{"op": op, "path": f"/spec/{name}", "value": value}], self._option())

    def _apply(self) -> Step:
        body = self._thing()
        options = self._random.choice(("?fieldManager=one", "?fieldManager=two", "?fieldManager=two&force=true"))
        headers = {"Content-Type": "application/apply-patch+yaml"}
        place = f"{_PATH}/{body['metadata']['name']}{options}"
        return {"method": "PATCH", "path": place, "headers": headers, "body": json.dumps(body)}

    def _status(self) -> Step:
        status = self._value(self._schema["properties"]["status"], 0.1)  # type: ignore[index]
        step = self._patched("merge-patch+json", {"status": status}, "")
        return {**step, "path": f"{step['path']}/status"}

    def _read(self) -> Step:
        accept = self._random.choice(("application/json", "application/json;as=Table;v=v1;g=meta.k8s.io"))
        return {"method": "GET", "path": f"{_PATH}/{self._random.choice('xy')}", "headers": {"Accept": accept}}
