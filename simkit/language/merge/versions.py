"""Two states of an object, compared in every version in which its managers named their fields.

structured-merge-diff v4.4, merge/update.go, where the Converter brings objects into an owner's version.

Upstream: sigs.k8s.io/structured-merge-diff/v4/merge/update.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable

from simkit.language.merge.fieldset import EMPTY, Fields
from simkit.language.merge.forgotten_amounts import with_forgotten
from simkit.language.merge.type_def import TypeDef, type_def_of
from simkit.language.merge.typed import Comparison, compare
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.objects import Object
from simkit.schema.structural import Schema

Converter = Callable[[Object, str], tuple[Object, Schema | None] | None]
"""The object in another apiVersion, with the schema of that version; None if the version is not served."""


class Versions:
    """Two states of an object, compared in the versions that its managers used.

    ``written`` says that the new state was written as a whole, and not merged from what was applied: then lists whose
    amounts have no text of their own count as modified.
    """

    def __init__(
        self,
        behaviour: ServedBehaviour,
        old: Object,
        new: Object,
        type_def: TypeDef,
        api_version: str,
        convert: Converter | None,
        ignored: Fields,
        *,
        written: bool,
    ) -> None:
        self._behaviour, self._old, self._new = behaviour, old, new
        self._convert, self._ignored, self._written = convert, ignored, written
        self._known: dict[str, Comparison | None] = {api_version: self._difference(old, new, type_def)}
        self.own = self._known[api_version] or Comparison(EMPTY, EMPTY, EMPTY)

    def comparison(self, api_version: str) -> Comparison | None:
        """The changes in the field names of a version; None if it is not served."""
        if api_version not in self._known:
            self._known[api_version] = self._compared(api_version)
        return self._known[api_version]

    def _compared(self, api_version: str) -> Comparison | None:
        if self._convert is None:
            return self.own
        old, new = self._convert(self._old, api_version), self._convert(self._new, api_version)
        if old is None or new is None:
            return None
        return self._difference(old[0], new[0], type_def_of(self._behaviour, new[1]))

    def _difference(self, old: Object, new: Object, type_def: TypeDef) -> Comparison:
        found = compare(old, new, type_def)
        if self._written and self._behaviour.applies("amounts-lose-their-text"):
            found = with_forgotten(found, old, new, type_def)
        return found.without(self._ignored)
