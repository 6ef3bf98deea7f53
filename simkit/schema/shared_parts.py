"""Decoded parts of objects that callers in this process send again and again: the template of many pods."""

from __future__ import annotations

from typing import Any, Final

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.objects import Object
from simkit.schema.decoding import Decoded, decode
from simkit.schema.structural import Schema

_PART: Final = "spec"
_MOST: Final = 64


class SharedParts:
    """The specifications that were decoded last, by their identity.

    Nobody changes an object that is sent by ``Request.of_object``. So an equal identity means an equal content.
    """

    def __init__(self, behaviour: ServedBehaviour) -> None:
        self._behaviour = behaviour
        self._known: dict[tuple[int, Schema], tuple[Any, Any]] = {}

    def decode(self, value: Object, schema: Schema, live: Object | None = None) -> Decoded:
        """The decoded value, as ``decode`` gives it.

        Parts that are those of the ``live`` object are taken as they are. Only a specification without problems is
        known for the next time.
        """
        if live is not None:
            same = {name: item for name, item in value.items() if item.__class__ is dict and item is live.get(name)}
            return _beside(self._behaviour, value, schema, same) if same else decode(self._behaviour, value, schema)
        part = value.get(_PART)
        if not part or part.__class__ is not dict:
            return decode(self._behaviour, value, schema)
        known = self._known.get((id(part), schema))
        if known is None or known[0] is not part:
            return self._first(value, schema, part)
        return _beside(self._behaviour, value, schema, {_PART: known[1]})

    def _first(self, value: Object, schema: Schema, part: Any) -> Decoded:
        decoded = decode(self._behaviour, value, schema)
        if not decoded.problems:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[id(part), schema] = part, decoded.object[_PART]
        return decoded


def _beside(behaviour: ServedBehaviour, value: Object, schema: Schema, known: Object) -> Decoded:
    """A value of which some parts are decoded already."""
    decoded = decode(behaviour, {name: item for name, item in value.items() if name not in known}, schema)
    decoded.object.update(known)
    return decoded
