"""State of a decoding pass: the current path and the errors found, with the messages of Go's JSON decoder.

The result of a strategic merge does not come from text. kube-apiserver does not write such an object as JSON to read it
again, but converts it value by value. That takes numbers without a fraction for integers, lets integers that are too
large overflow, stops at the first value of a wrong type, and has words of its own.

Follows ``sigs.k8s.io/json`` and ``k8s.io/apimachinery/pkg/runtime/converter.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.meta.fielderror import quoted
from simkit.meta.go_json import go_kind

MOST_PROBLEMS: Final = 100
"""The most unknown or duplicate fields that are reported for one object."""


class DecodeError(ValueError):
    """A value that does not fit its type; the message is kube-apiserver's, without its prefix."""


class MapKey(str):
    """A step of a path that is a map's key and not a field: type errors leave it out."""

    __slots__ = ()


class GoField(NamedTuple):
    """A field in Go's terms: its struct, its name, and the type of its value."""

    struct: str
    field: str
    type: str
    kind: str = "struct"
    """The Go kind of that type: see ``go_types.type_kind``."""


class DecodePass:
    """One pass over one value.

    ``path`` is where the pass stands: field names, ``MapKey`` and list indexes. ``problems`` are unknown and repeated
    fields in document order; ``error`` is the first value of a wrong type (the pass goes on behind it, because a
    string that cannot be read counts more). ``within`` is the field whose own reader makes the pass: errors of types
    name that field alone, or with ``told`` the path in it too. ``told`` gives the names of a path as errors have them.
    """

    __slots__ = ("error", "path", "problems", "told", "within")

    def __init__(self, within: str = "", told: Callable[[Sequence[str]], Iterable[str]] = iter) -> None:
        self.within, self.told = within, told
        self.path: list[str | int] = []
        self.problems: list[str] = []
        self.error: str | None = None

    def unknown(self, name: str) -> None:
        self._problem(f"unknown field {quoted(self._at(name))}")

    def repeated(self, name: str) -> None:
        self._problem(f"duplicate field {quoted(self._at(name))}")

    def mistyped(self, place: GoField, item: Any) -> None:
        """Record a value of another type than the field's."""
        if self.error is None:
            self.error = self.mismatch(place, item)

    def no_integer(self, place: GoField, item: Any, limit: int) -> Any:
        """Record a value that does not fit an integer field."""
        self.mistyped(place, item)
        return item

    def unreadable(self, message: str) -> None:
        """Record a text that the decoder itself cannot read (base64)."""
        if self.error is None:
            self.error = message

    def mismatch(self, place: GoField, item: Any, type: str = "") -> str:
        """The message for a value of a wrong type."""
        wanted = type or place.type
        where = self.where(place)
        return f"json: cannot unmarshal {json_kind(item, wanted)} into Go struct field {where} of type {wanted}"

    def where(self, place: GoField) -> str:
        """A field as errors name it, behind the field whose own reader makes the pass."""
        named = self.named(place)
        if not self.within:
            return named
        return self.within if self.told is iter else f"{self.within}.{named.partition('.')[2]}"

    def named(self, place: GoField) -> str:
        """A field as errors name it: its struct and its path."""
        fields = [step for step in self.path if step.__class__ is str]
        holds_itself = place.type.endswith(f"]v1.{place.struct}")  # then it is no entry, but the entry's own field
        if not fields or fields[-1] != place.field or holds_itself or not self._inside():
            fields.append(place.field)
        return f"{place.struct}.{'.'.join(self.told([str(step) for step in fields]))}"

    def _inside(self) -> bool:
        """True if the path ends in a list element or a map entry of its last field."""
        return bool(self.path) and self.path[-1].__class__ is not str

    def _problem(self, text: str) -> None:
        if len(self.problems) < MOST_PROBLEMS and text not in self.problems:
            self.problems.append(text)

    def _at(self, name: str) -> str:
        out = ""
        for step in (*self.path, name):
            out += f"[{step}]" if isinstance(step, int) else f".{step}"
        return out[1:]


def json_kind(item: Any, wanted: str) -> str:
    """The type name of a JSON value; a number that a numeric type refuses is quoted."""
    kind = go_kind(item)
    refused = kind == "number" and wanted.startswith(("int", "uint", "float"))
    return f"number {_number(item)}" if refused else kind


def _number(item: float) -> str:
    if isinstance(item, float) and abs(item) >= 1e16:
        mantissa, _, exponent = repr(item).partition("e")
        return f"{mantissa}e{int(exponent):+03d}" if exponent else mantissa
    return repr(item)


_VALUE_KINDS: Final[Mapping[type, str]] = {
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    list: "slice",
}


class ConversionPass(DecodePass):
    """One pass over one value that is converted, not decoded."""

    __slots__ = ()

    def mistyped(self, place: GoField, item: Any) -> None:
        raise DecodeError(_refusal(place, item))

    def no_integer(self, place: GoField, item: Any, limit: int) -> Any:
        if item.__class__ not in (int, float) or not float(item).is_integer():
            self.mistyped(place, item)
        return (int(item) + limit) % (2 * limit) - limit

    def unreadable(self, message: str) -> None:
        raise DecodeError(f"error decoding from json: {message}")

    def mismatch(self, place: GoField, item: Any, type: str = "") -> str:
        """The error of a value of a wrong type; types with a form of their own (times, ports) are decoded by
        themselves."""
        return f"json: cannot unmarshal {json_kind(item, type)} into Go value of type {type}"


def _refusal(place: GoField, item: Any) -> str:
    """The converter's message for a value of a wrong type."""
    given = _VALUE_KINDS.get(item.__class__, "map")
    match place.kind:
        case "struct":
            return f"cannot restore struct from: {given}"
        case "map" | "slice":
            return f"cannot restore {place.kind} from {given}"
        case "string" if given == "int64":  # its language could make a letter of it
            return f"cannot convert int64 to {place.type}"
        case "int32" | "int64" if given == "float64":
            return f"cannot convert float64 to {place.type}"
    return f"unrecognized type: {place.kind}"


_SCALARS: Final = {
    ("string", ""): "string",
    ("string", "byte"): "[]uint8",
    ("integer", ""): "int64",
    ("integer", "int32"): "int32",
    ("integer", "int64"): "int64",
    ("number", ""): "float64",
    ("number", "double"): "float64",
    ("boolean", ""): "bool",
}
_TYPE_KINDS: Final = {"array": "slice", "object": "map", "boolean": "bool", "string": "string", "number": "float64"}
_QUANTITY: Final = "pkg.api.resource.Quantity"


def struct_name(definition: str) -> str:
    """The bare name of a definition's type: ``PodSpec``."""
    return definition.rpartition(".")[2]


def type_name(row: Mapping[str, Any]) -> str:
    """The Go type of a schema row: ``int32``, ``[]v1.Container``, ``map[string]string``.

    Examples
    --------
    >>> type_name({"type": "array", "items": {"ref": "io.k8s.api.core.v1.Container"}})
    '[]v1.Container'
    """
    if "goType" in row:
        return str(row["goType"])
    if "ref" in row:
        package, _, name = row["ref"].rpartition(".")
        return f"{package.rpartition('.')[2]}.{name}"
    if row.get("type") == "array":
        return f"[]{type_name(row.get('items', {}))}"
    if "values" in row:
        return _map_name(row["values"])
    return _SCALARS.get((row.get("type", ""), row.get("format", "")), "interface {}")


def type_kind(row: Mapping[str, Any]) -> str:
    """The Go kind of a schema row's type: ``struct``, ``slice``, ``map``, ``string``, ``int32``.

    Examples
    --------
    >>> type_kind({"type": "string", "goType": "v1.RestartPolicy"}), type_kind({"type": "integer"})
    ('string', 'int64')
    """
    if "ref" in row:
        return "struct"
    if (row.get("type"), row.get("format")) == ("string", "byte"):
        return "slice"
    if row.get("type") == "integer":
        return str(row.get("format") or "int64")
    return _TYPE_KINDS.get(row.get("type", ""), "interface")


def _map_name(values: Mapping[str, Any]) -> str:
    ref = values.get("ref", "")
    if ref.endswith(_QUANTITY):
        return "v1.ResourceList"
    if ref.endswith(".JSONSchemaPropsOrStringArray"):
        return f"{ref.split('.')[-2]}.JSONSchemaDependencies"
    return f"map[string]{type_name(values)}"


def internal_package(group: str) -> str:
    """The package of a group's internal types in kube-apiserver.

    Examples
    --------
    >>> internal_package(""), internal_package("apps")
    ('core', 'apps')
    """
    return group.partition(".")[0] or "core"
