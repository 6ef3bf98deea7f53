"""Controller revisions, one for each template of a workload, and the hashes in names of revisions and replica sets.

A pod template is hashed as Go's struct that spew prints, with all types and all empty fields. The tables know fields,
numbers and most types of a structure. pkg/controller/history, pkg/controller/controller_utils.go (ComputeHash) and
pkg/util/hash/hash.go (DeepHashObject), release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import orjson

from simkit.language.merge.fieldset import escaped_json
from simkit.meta import datasets
from simkit.meta.clock import SUFFIX_LETTERS
from simkit.meta.domain import label
from simkit.meta.objects import Draft, Object, annotations_of, at, labels_of, metadata

POD_HASH: Final = "controller-revision-hash"
_HASH: Final = label("hash", "controller")


def data_of(owner: Object) -> dict[str, Any]:
    """The data of a revision: the patch that restores the template."""
    return {"spec": {"template": {**(at(owner, "spec", "template") or {}), "$patch": "replace"}}}


def template_of(revision: Object) -> dict[str, Any]:
    """The template in a revision."""
    template = at(revision, "data", "spec", "template") or {}
    return {name: value for name, value in template.items() if name != "$patch"}


def ordered(revisions: Sequence[Object]) -> list[Object]:
    """The revisions from the oldest to the newest."""
    return sorted(revisions, key=lambda each: (each.get("revision") or 0, metadata(each).get("name", "")))


def hash_of(revision: Object) -> str:
    """The hash in a revision's name, which the pods of a daemon set carry."""
    return labels_of(revision).get(POD_HASH) or labels_of(revision).get(_HASH) or ""


def made(owner: Object, reference: Mapping[str, Any], number: int, collisions: int) -> Draft:
    """The revision of an owner's present template. Stateful sets hash it as data, daemon sets as a struct."""
    data = data_of(owner)
    if reference.get("kind") == "StatefulSet":
        key, name = _HASH, revision_hash(data, collisions)
    else:
        known = at(owner, "status", "collisionCount") is not None or collisions
        key, name = POD_HASH, template_hash(at(owner, "spec", "template") or {}, collisions if known else None)
    meta = {
        "name": f"{metadata(owner)['name']}-{name}",
        "labels": {**labels_of(at(owner, "spec", "template") or {}), key: name},
        "ownerReferences": [dict(reference)],
    }
    if annotations_of(owner):
        meta["annotations"] = dict(annotations_of(owner))
    return {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": meta, "data": data, "revision": number}


def present(owner: Object, revisions: Sequence[Object]) -> Object | None:
    """The revision of the owner's present template; None if it does not exist yet."""
    wanted = data_of(owner)
    return next((each for each in reversed(ordered(revisions)) if each.get("data") == wanted), None)


_OFFSET: Final = 0x811C9DC5
_PRIME: Final = 0x01000193
_MASK: Final = 0xFFFFFFFF


def template_hash(template: Any, collisions: int | None = None) -> str:
    """The pod-template-hash of a pod template for a number of collisions.

    Examples
    --------
    >>> template_hash({"spec": {}}) == template_hash({"spec": {}}), template_hash({}) == template_hash({}, 1)
    (True, False)

    References
    ----------
    FNV-1a of 32 bits over the structure as Go prints it with its types: pkg/util/hash of release 1.30.
    """
    number = _OFFSET
    more = b"" if collisions is None else collisions.to_bytes(8, "little")
    for byte in template_text(template).encode() + more:
        number = ((number ^ byte) * _PRIME) & _MASK
    return _safe(number)


def revision_hash(data: Any, collisions: int = 0) -> str:
    """The hash of a controller revision with this data for a number of collisions.

    Examples
    --------
    >>> revision_hash({"spec": 1}), revision_hash({"spec": 1}, 1)
    ('6c6d4757f9', '6c6d4757f8')

    References
    ----------
    FNV-1 of 32 bits over the JSON text: pkg/controller/history of release 1.30.
    """
    number = _OFFSET
    text = escaped_json(orjson.dumps(data, option=orjson.OPT_SORT_KEYS).decode())
    for byte in f"{text}{collisions}".encode():
        number = ((number * _PRIME) & _MASK) ^ byte
    return _safe(number)


def _safe(number: int) -> str:
    """A number in letters that make no words (SafeEncodeString of k8s.io/apimachinery/pkg/util/rand)."""
    return "".join(SUFFIX_LETTERS[ord(digit) % len(SUFFIX_LETTERS)] for digit in str(number))


_TEMPLATE: Final = "PodTemplateSpec"
_FOREIGN: Final = frozenset({"resource.Quantity", "intstr.IntOrString", "types.UID"})
"""Types of other packages, under the names that Go prints."""
_BUILT_IN: Final = frozenset({"string", "bool", "int32", "int64", "byte"})
_NO_TIME: Final = "{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}"


class _Field(NamedTuple):
    """One field of a struct: its name in JSON (empty if embedded) and in Go, and its type with ``[]``, ``*`` or map."""

    key: str
    name: str
    kind: str


def template_text(template: Object) -> str:
    """The text of a pod template in its stored form.

    Notes
    -----
    As of release 1.30, whatever release is served. Sizes of 10**15 bytes and more, which only templates of claims
    have, are not printed as Go prints them.
    """
    return f"(v1.{_TEMPLATE}){_struct(template, _TEMPLATE)}"


@cache
def _structs() -> Mapping[str, tuple[_Field, ...]]:
    """The fields of the structs in a pod template, in the order of their declaration."""
    table = datasets.load("api/1.30/go-structs.json")
    return {name: tuple(_Field(*field) for field in fields) for name, fields in table["structs"].items()}


@cache
def _strings() -> frozenset[str]:
    """The names of the types that are strings."""
    return frozenset(datasets.load("api/1.30/go-structs.json")["strings"])


def _struct(value: Object, name: str) -> str:
    return f"{{{' '.join(_field(value, field) for field in _structs()[name])}}}"


def _field(holder: Object, field: _Field) -> str:
    kind = field.kind
    if not field.key:
        return f"{field.name}:({_shown(kind)}){_struct(holder, kind)}"
    value, head = holder.get(field.key), f"{field.name}:({_shown(kind)})"
    if kind == "ResourceList" or kind.startswith("map["):
        inner = "resource.Quantity" if kind == "ResourceList" else kind.partition("]")[2]
        entries = value or {}
        pairs = [f"{key}:{_plain(entries[key], inner)}" for key in sorted(entries)]
        return head + (f"map[{' '.join(pairs)}]" if pairs else "<nil>")
    if kind.startswith("[]"):
        items = [_plain(each, kind[2:]) for each in value or ()]
        return head + (f"[{' '.join(items)}]" if items else "<nil>")
    if kind.startswith("*"):
        return head + ("<nil>" if value is None else _plain(value, kind[1:]))
    return head + _plain(value, kind)


def _shown(kind: str) -> str:
    """A type as Go prints it: those of the API groups' packages begin with ``v1.``."""
    for prefix in ("[]", "*"):
        if kind.startswith(prefix):
            return prefix + _shown(kind.removeprefix(prefix))
    return kind if kind in _BUILT_IN or kind in _FOREIGN or kind.startswith("map[") else f"v1.{kind}"


def _plain(value: Any, kind: str) -> str:
    """A value without its type."""
    if kind in ("string", "types.UID") or kind in _strings():
        return value or ""
    if kind == "bool":
        return "true" if value else "false"
    if kind in ("int32", "int64"):
        return str(value or 0)
    if kind == "Time":
        return _NO_TIME
    if kind == "resource.Quantity":
        return _quantity(value)
    if kind == "intstr.IntOrString":
        number, text = (0, value) if isinstance(value, str) else (value or 0, "")
        return f"{{Type:(intstr.Type){int(isinstance(value, str))} IntVal:(int32){number} StrVal:(string){text}}}"
    return _struct(value or {}, kind)


_PARTS: Final = re.compile(r"(-?\d+)(?:([KMGTPE])i|([numkMGTPE])|e(-?\d+))?")
_SCALES: Final = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def _quantity(text: str | None) -> str:
    """A quantity in canonical form, as parsed: for a multiple of eight with a binary suffix, the text is not cached."""
    found = _PARTS.fullmatch(text or "")
    if text is None or found is None or text == "0":
        return _amount(0, 0, text or "", "")
    number, (binary, decimal, exponent) = int(found[1]), found.groups()[1:]
    if binary:
        shifted = number << 10 * ("KMGTPE".index(binary) + 1)
        return _amount(shifted, 0, text if number % 8 else "", "BinarySI")
    if exponent:
        return _amount(number, int(exponent), text, "DecimalExponent")
    return _amount(number, _SCALES.get(decimal or "", 0), text, "DecimalSI")


def _amount(value: int, scale: int, text: str, family: str) -> str:
    number = f"i:(resource.int64Amount){{value:(int64){value} scale:(resource.Scale){scale}}}"
    exact = "d:(resource.infDecAmount){Dec:(*inf.Dec)<nil>}"
    return f"{{{number} {exact} s:(string){text} Format:(resource.Format){family}}}"
