"""An object as it should be written."""

from __future__ import annotations

from dataclasses import dataclass

from simkit.meta.objects import Object


@dataclass(frozen=True, slots=True)
class MigratedObject:
    """An object as it should be written, and what is to be said about it."""

    object: Object
    to: str = ""
    """The version that it was rewritten in; empty where its version stays."""
    changed: bool = False
    person: tuple[str, ...] = ()
    """The decisions for a person. Without them the object can be applied as it is."""
    notes: tuple[str, ...] = ()
    """The changes that keep the meaning and may be worth a look."""

    @property
    def is_concerned(self) -> bool:
        """True if something is to change, or for a person to decide."""
        return self.changed or bool(self.person)
