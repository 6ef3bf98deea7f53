"""Pruning of custom resources: unknown fields are dropped, the rest is unchanged.

Unlike built-in types, a custom kind has no zero values of its own: an empty list stays an empty list. Only metadata is
read as the built-in type that it is, at the root and in embedded objects.

Follows ``k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning/algorithm.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import invalid_value
from simkit.meta.go_json import go_kind
from simkit.schema.custom.messages import shown
from simkit.schema.decode_pass import DecodeError, DecodePass
from simkit.schema.decoders import struct
from simkit.schema.strict_json import plain, repeated_fields
from simkit.schema.structural import Schema

OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_ROOT_FIELDS: Final = ("apiVersion", "kind", "metadata")


def prune(
    behaviour: ServedBehaviour, value: Any, schema: Schema, *, stored: bool = False
) -> tuple[dict[str, Any], list[str]]:
    """An object without its unknown fields, and messages about them.

    Duplicates come first, then what is unknown in the metadata, elsewhere, and in the metadata of embedded objects.

    Parameters
    ----------
    stored
        Whether it was taken before: then objects inside of it are left as they are, however wrong they are.

    Raises
    ------
    DecodeError
        For metadata, a kind or an apiVersion of a wrong type, at the root and in embedded objects. Other types are
        checked by validation, after defaults.
    """
    problems = [f'duplicate field "{path}"' for path in dict.fromkeys(repeated_fields(value))]
    pruner = _Pruner(behaviour, schema, stored=stored)
    obj = pruner.object(plain(value), schema, (), root=True)
    unknown = [*pruner.unknown_metadata, *sorted(pruner.unknown), *sorted(pruner.unknown_embedded)]
    return obj, problems + [f'unknown field "{path}"' for path in dict.fromkeys(unknown)]


class _Pruner:
    def __init__(self, behaviour: ServedBehaviour, schema: Schema, *, stored: bool) -> None:
        self._behaviour = behaviour
        self._metadata, self._stored = struct(schema.definition(OBJECT_META)), stored
        self.unknown: list[str] = []
        self.unknown_metadata: list[str] = []
        self.unknown_embedded: list[str] = []

    def value(self, value: Any, schema: Schema | None, path: tuple[str, ...]) -> Any:
        if isinstance(value, Mapping):
            return self.object(value, schema, path, root=schema is not None and schema.embedded)
        if isinstance(value, list):
            items = schema.items if schema is not None else None
            if items is None and schema is not None and schema.preserve_unknown:
                return value
            return [self.value(item, items, (*path[:-1], f"{path[-1]}[{index}]")) for index, item in enumerate(value)]
        return value

    def object(
        self, value: Mapping[str, Any], schema: Schema | None, path: tuple[str, ...], *, root: bool
    ) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for name, item in value.items():
            if root and name in _ROOT_FIELDS:
                out[name] = self.metadata(item, path) if name == "metadata" else self._text(item, (*path, name))
                continue
            node = schema.field(name) if schema is not None else None
            if node is not None:
                out[name] = self.value(item, node, (*path, name))
            elif schema is not None and schema.preserve_unknown:
                out[name] = item
            else:
                self.unknown.append(".".join((*path, name)))
        return out

    def _text(self, value: Any, path: tuple[str, ...]) -> Any:
        """The kind or the apiVersion of an embedded object."""
        if len(path) > 1 and not isinstance(value, str) and not self._stored:
            raise DecodeError(invalid_value(".".join(path), shown(value), "must be a string").told(self._behaviour))
        return value

    def metadata(self, value: Any, path: tuple[str, ...]) -> Any:
        """The metadata as the built-in type decodes it."""
        try:
            return self._read(value, path)
        except DecodeError as error:
            if not path:
                raise
            if self._stored:
                return value
            place = ".".join((*path, "metadata"))
            raise DecodeError(invalid_value(place, shown(value), str(error)).told(self._behaviour)) from None

    def _read(self, value: Any, path: tuple[str, ...]) -> Any:
        if value is None:
            return value
        if not isinstance(value, Mapping):
            raise DecodeError(f"json: cannot unmarshal {go_kind(value)} into Go value of type v1.ObjectMeta")
        reading = DecodePass()
        reading.path += [*path, "metadata"]
        read = self._metadata(value, reading)
        if reading.error is not None:
            raise DecodeError(reading.error.replace(f"ObjectMeta.{'.'.join((*path, 'metadata'))}.", "ObjectMeta."))
        found = self.unknown_embedded if path else self.unknown_metadata
        found += [problem.split('"')[1] for problem in reading.problems]
        return {key: item for key, item in read.items() if key != "creationTimestamp" or item is not None}
