"""Structured hostile input made of bytes: requests about objects of every kind, with odd values where they hurt.

A fuzzer changes bytes, and hardly ever makes an object of them that gets past the first check. ``Choices`` reads bytes
as choices, so the same bytes make the same request, and small changes of them make similar requests. The requests pass
the whole handler chain of one cluster, without being kept. An answer of 500 is a fault: the server met an error of ours.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeVar

import orjson

import simkit
from simkit.cluster.options import Options
from simkit.meta.message import Request, Response
from simkit.schema.catalogue import Resource
from simkit.schema.structural import Schema

T = TypeVar("T")
_DEEPEST: Final = 6
_TEXTS: Final = (
    "", "a", "²", "9" * 400, "-1", "1e999", "0x10", "\u202ea", "a\nb", "a/b", "../..", "1h1h", "10.0.0.0/²", "::1/129",
    "*", "%00", "$(x)", "system:masters", "2020-01-01T00:00:00Z", "9999-99-99T99:99:99Z", "150%", "5" * 99 + "%", "1Ki",
    "(a+)+$", "self.a.all(x, x == 1)", "{.a[?(@.b)]}", "x" * 300,
)  # fmt: skip
_NUMBERS: Final = (0, -1, 1, 2**31, 2**53, 2**63 - 1, -(2**63), 1.5, 1e300)
_ANYTHING: Final[Sequence[Any]] = (None, [], {}, [None], {"": None}, True, "x", 7, [[[]]], {"a": {"b": []}})
_FORMS: Final = (
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/json-patch+json",
)
_WORDS: Final = (
    "a", "b", "in", "notin", "exists", "(", ")", ",", "=", "==", "!=", "!", " ", "x.io/y", "²", "-", "", "%", ">", "<", "9",
)  # fmt: skip
_TERMS: Final = (
    "object", ".spec", ".metadata.name", "[0]", "(", ")", " == ", " && ", "!", "'a'", "1", "1u", "1.0", "[", "]", ",", "{",
    "}", ".all(x, ", ".map(y, ", ".matches('(a|b)*')", "?", ":", " in ", "has(object.x)", "size(", "quantity('1Ki')",
    "duration('1s')", "type(", "null", "true", "b'\\x00'", "url('http://a')", ".exists_one(z, ", "-", "*", "/", "%", "\\",
)  # fmt: skip
_FAULT: Final = 500
_OURS: Final = b'"reason":"InternalError"'
"""The mark of an error of ours. kube-apiserver answers some requests with 500 too, and gives no reason."""


class Choices:
    """Choices that bytes stand for; the first ones, where there are no more bytes."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def number(self, below: int) -> int:
        """A number from 0 to below a limit."""
        size = 1 if below <= 256 else 2
        taken, self._at = self._data[self._at : self._at + size], self._at + size
        return int.from_bytes(taken, "big") % below

    def of(self, values: Sequence[T]) -> T:
        """One of some values."""
        return values[self.number(len(values))]

    def rarely(self) -> bool:
        """True for one byte in sixteen."""
        return self.number(16) == 15

    def words(self, known: Sequence[str], most: int = 24) -> str:
        """Words without a space between them."""
        return "".join(self.of(known) for _ in range(self.number(most)))


@cache
def cluster() -> simkit.Cluster:
    """The cluster whose handler chain is tried."""
    return simkit.Cluster(options=Options(seed=1, clock=simkit.SimulatedClock()))


@cache
def _kinds() -> tuple[Resource, ...]:
    return tuple(each for each in cluster().engine.catalogue.resources() if each.stored and not each.custom)


def value_of(schema: Schema, choices: Choices, depth: int = 0) -> Any:
    """A value that a schema allows, or now and then one that it does not."""
    if choices.rarely() or depth > _DEEPEST:
        return choices.of(_ANYTHING)
    if schema.fields:
        names = sorted(schema.fields)
        chosen = [choices.of(names) for _ in range(choices.number(4))]
        return {name: value_of(schema.fields[name], choices, depth + 1) for name in chosen}
    if schema.type == "array" and schema.items is not None:
        return [value_of(schema.items, choices, depth + 1) for _ in range(choices.number(3))]
    if schema.type == "object":
        return {choices.of(_TEXTS): choices.of(_TEXTS) for _ in range(choices.number(3))}
    if schema.type in ("integer", "number"):
        return choices.of(_NUMBERS)
    return bool(choices.number(2)) if schema.type == "boolean" else choices.of(_TEXTS)


def _object(resource: Resource, choices: Choices) -> dict[str, Any]:
    made = value_of(cluster().engine.catalogue.schema(resource.gvk), choices)
    made = made if isinstance(made, dict) else {}
    meta = made.get("metadata")
    named = {**(meta if isinstance(meta, dict) else {}), "name": choices.of(("a", "a", "a", *_TEXTS))}
    return {**made, "apiVersion": resource.api_version, "kind": resource.kind, "metadata": named}


def _collection(resource: Resource) -> str:
    return f"{resource.path}{'/namespaces/default' if resource.namespaced else ''}/{resource.resource}"


def _asked(method: str, path: str, body: Any = None, form: str = "application/json") -> None:
    content = body if isinstance(body, bytes) or body is None else orjson.dumps(body, default=str)
    response = cluster().perform(Request.of(method, path, content, content_type=form))
    assert not _is_fault(response), (method, path, content, response.body)


def _is_fault(response: Response) -> bool:
    return response.status == _FAULT and _OURS in response.body


def create(choices: Choices) -> None:
    """Create an object of any kind."""
    resource = choices.of(_kinds())
    _asked("POST", f"{_collection(resource)}?dryRun=All", _object(resource, choices))


def applied(choices: Choices) -> None:
    """Apply objects by several managers, one after the other, in a fork."""
    resource = choices.of(_kinds())
    trial = cluster().fork()
    for _ in range(1 + choices.number(3)):
        body = orjson.dumps({**_object(resource, choices), "metadata": {"name": "a"}}, default=str)
        path = f"{_collection(resource)}/a?fieldManager={choices.of(('m', 'n'))}&force={choices.of(('true', 'false'))}"
        response = trial.perform(Request.of("PATCH", path, body, content_type="application/apply-patch+yaml"))
        assert not _is_fault(response), (path, body, response.body)


def patched(choices: Choices) -> None:
    """Patch an object that is there, in each form."""
    form = choices.of(_FORMS)
    resource = cluster().engine.catalogue.lookup("namespaces")
    body: Any = _object(resource, choices)
    if form == _FORMS[2]:
        places = (
            "/metadata",
            "/metadata/labels/a",
            "/spec/finalizers/0",
            "/spec/finalizers/-",
            "",
            "/~2",
            "/a/²",
            "/status",
        )
        operations = ("add", "remove", "replace", "move", "copy", "test", "jump")
        body = [
            {
                "op": choices.of(operations),
                "path": choices.of(places),
                "from": choices.of(places),
                "value": choices.of(_ANYTHING),
            }
            for _ in range(choices.number(6))
        ]
    _asked("PATCH", "/api/v1/namespaces/default?dryRun=All", body, form)


def selected(choices: Choices) -> None:
    """List by selectors and continue tokens."""
    from urllib.parse import quote

    token = base64.urlsafe_b64encode(orjson.dumps({"v": "meta.k8s.io/v1", "rv": choices.of(_NUMBERS), "start": "a\0"}))
    options = {
        "labelSelector": choices.words(_WORDS),
        "fieldSelector": choices.words(_WORDS),
        "continue": choices.of((token.decode(), choices.of(_TEXTS))),
        "limit": choices.of((*_TEXTS, "1")),
        "resourceVersion": choices.of(_TEXTS),
    }
    query = "&".join(f"{name}={quote(options[name])}" for name in sorted(options) if choices.number(2))
    _asked("GET", f"{_collection(choices.of(_kinds()))}?{query}")


def expressed(choices: Choices) -> None:
    """Compile an expression of an admission policy."""
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
    spec = {
        "matchConstraints": {"resourceRules": rules},
        "validations": [{"expression": choices.words(_TERMS, 40) or "x"}],
    }
    group = "admissionregistration.k8s.io/v1"
    body = {"apiVersion": group, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "p"}, "spec": spec}
    _asked("POST", f"/apis/{group}/validatingadmissionpolicies?dryRun=All", body)


def encoded(choices: Choices) -> None:
    """Send protobuf with changed bytes."""
    from simkit.schema.binary import encode

    sound = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "labels": {"a": "b"}},
        "data": {"k": "v"},
    }
    content = bytearray(encode(sound))
    for _ in range(choices.number(6)):
        content[choices.number(len(content))] = choices.number(256)
    path = "/api/v1/namespaces/default/configmaps?dryRun=All"
    _asked("POST", path, bytes(content), "application/vnd.kubernetes.protobuf")


STRUCTURED: Final[Mapping[str, Callable[[Choices], None]]] = {
    "create": create,
    "apply": applied,
    "patch": patched,
    "select": selected,
    "rule": expressed,
    "protobuf": encoded,
}
