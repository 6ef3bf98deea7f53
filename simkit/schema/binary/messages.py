"""Protobuf message classes, made from the tables on first use of a package."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from simkit.meta import datasets
from simkit.schema.releases import BASE

if TYPE_CHECKING:
    from google.protobuf.message import Message

_SCALARS: Final = {
    "bool": descriptor_pb2.FieldDescriptorProto.TYPE_BOOL,
    "bytes": descriptor_pb2.FieldDescriptorProto.TYPE_BYTES,
    "double": descriptor_pb2.FieldDescriptorProto.TYPE_DOUBLE,
    "int32": descriptor_pb2.FieldDescriptorProto.TYPE_INT32,
    "int64": descriptor_pb2.FieldDescriptorProto.TYPE_INT64,
    "string": descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
}
_OPTIONAL: Final = descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL
_REPEATED: Final = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED
_MESSAGE: Final = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE


class Field(NamedTuple):
    """One field of a message.

    ``type`` is a scalar or the full name of a message; for a map, ``key`` and ``type`` are of its entries.
    ``pointer`` fields are left out when nothing is given, all others are always written. ``inline`` fields have no name
    of their own in JSON.
    """

    name: str
    json_name: str
    number: int
    type: str
    key: str
    repeated: bool
    pointer: bool
    inline: bool

    @property
    def scalar(self) -> bool:
        return self.type in _SCALARS


Packages = Mapping[str, Mapping[str, Mapping[str, str]]]
"""Fields by package, message and name: ``{"pkg": {"Message": {"name": "1 string"}}}``."""


_table: Final[Callable[[], Packages]] = datasets.lazy(f"api/{BASE}/protobuf.json")


def knows(package: str, name: str) -> bool:
    """True if a message of that name exists."""
    return name in _table().get(package, ())


@cache
def fields(full_name: str) -> tuple[Field, ...]:
    """The fields of a message, by number."""
    return _fields_of(_table(), full_name)


def _fields_of(packages: Packages, full_name: str) -> tuple[Field, ...]:
    package, _, name = full_name.rpartition(".")
    rows = packages[package][name]
    return tuple(sorted((_field(package, key, text) for key, text in rows.items()), key=lambda each: each.number))


def _field(package: str, name: str, text: str) -> Field:
    number, kind, *flags = text.split(" ")
    key = ""
    if kind.startswith("map<"):
        key, kind = kind[4:-1].split(",", 1)
    if kind not in _SCALARS and "." not in kind:
        kind = f"{package}.{kind}"
    renamed = next((flag[5:] for flag in flags if flag.startswith("json=")), name)
    return Field(
        name, renamed, int(number), kind, key, "repeated" in flags or bool(key), "ptr" in flags, "inline" in flags
    )


class MessagePool:
    """The descriptors of some packages, a file for each of them.

    Examples
    --------
    >>> pool = MessagePool({"greeting": {"Hello": {"name": "1 string"}}})
    >>> pool.message_class("greeting.Hello")(name="Ann").SerializeToString()
    b'\\n\\x03Ann'
    """

    def __init__(self, packages: Packages) -> None:
        self._packages, self._pool = packages, descriptor_pool.DescriptorPool()
        self._added: set[str] = set()
        """Packages that are in the pool. None is before it is there: other threads do not take the lock for it."""
        self._adding = threading.RLock()

    def message_class(self, full_name: str) -> type[Message]:
        """The class of a message by its full name, package and all."""
        package = full_name.rpartition(".")[0]
        if package not in self._added:
            with self._adding:
                self._add(package)
        return message_factory.GetMessageClass(self._pool.FindMessageTypeByName(full_name))

    def _add(self, package: str) -> None:
        if package in self._added:
            return
        needed = sorted(set(self._needs(package)) - {package})
        for other in needed:
            self._add(other)
        file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto2")
        file.dependency.extend(f"{other}.proto" for other in needed)
        for name in self._packages[package]:
            self._describe(file.message_type.add(name=name), f"{package}.{name}")
        self._pool.Add(file)
        self._added.add(package)

    def _needs(self, package: str) -> Iterator[str]:
        for name in self._packages[package]:
            for field in _fields_of(self._packages, f"{package}.{name}"):
                if not field.scalar:
                    yield field.type.rpartition(".")[0]

    def _describe(self, message: Any, full_name: str) -> None:
        for field in _fields_of(self._packages, full_name):
            described = message.field.add(name=field.name, number=field.number)
            described.label = _REPEATED if field.repeated else _OPTIONAL
            if field.key:
                self._entry(message, described, field, full_name)
            elif field.scalar:
                described.type = _SCALARS[field.type]
            else:
                described.type, described.type_name = _MESSAGE, f".{field.type}"

    @staticmethod
    def _entry(message: Any, described: Any, field: Field, full_name: str) -> None:
        """The message of a map's entries, named as the library demands."""
        name = "".join(part[:1].upper() + part[1:] for part in field.name.split("_")) + "Entry"
        entry = message.nested_type.add(name=name)
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, type=_SCALARS[field.key], label=_OPTIONAL)
        value = entry.field.add(name="value", number=2, label=_OPTIONAL)
        if field.scalar:
            value.type = _SCALARS[field.type]
        else:
            value.type, value.type_name = _MESSAGE, f".{field.type}"
        described.type, described.type_name = _MESSAGE, f".{full_name}.{name}"


@cache
def _pool() -> MessagePool:
    return MessagePool(_table())


@cache
def message_class(full_name: str) -> type[Message]:
    """The class of a message by its full name."""
    return _pool().message_class(full_name)
