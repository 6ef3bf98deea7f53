"""Texts that releases word otherwise: they are made without a release, and told to a client of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simkit.meta.behaviour import ServedBehaviour


@dataclass(frozen=True, slots=True)
class Worded:
    """A text that a change of behaviour words anew.

    Examples
    --------
    >>> from simkit.meta.behaviour import ServedBehaviour
    >>> told(Worded("one-item", "1 item", "1 items"), ServedBehaviour(30))
    '1 items'
    """

    change: str
    since: Text
    before: Text

    def told(self, behaviour: ServedBehaviour) -> str:
        """The text of a release."""
        return told(self.since if behaviour.applies(self.change) else self.before, behaviour)

    def __str__(self) -> str:
        raise TypeError(f"the words of {self.change} depend on the release: use told")


@dataclass(frozen=True, slots=True)
class Joined:
    """Several texts as one."""

    parts: tuple[Text, ...]
    separator: str = ""

    def told(self, behaviour: ServedBehaviour) -> str:
        """The text of a release."""
        return self.separator.join(told(part, behaviour) for part in self.parts)

    def __str__(self) -> str:
        raise TypeError("the words depend on the release: use told")


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """A text that a function writes for the release that it is told to, once for each: a struct with all its fields."""

    write: Callable[[ServedBehaviour], str]
    _texts: dict[ServedBehaviour, str] = field(default_factory=dict, repr=False)

    def told(self, behaviour: ServedBehaviour) -> str:
        """The text of a release."""
        if behaviour not in self._texts:
            self._texts[behaviour] = self.write(behaviour)
        return self._texts[behaviour]

    def __str__(self) -> str:
        raise TypeError("the text depends on the release: use told")


Text = str | Worded | Joined | Written


def told(text: Text, behaviour: ServedBehaviour) -> str:
    """The text in the words of a release."""
    return text if isinstance(text, str) else text.told(behaviour)


def joined(separator: str, texts: Iterable[Text]) -> Text:
    """Several texts as one; a plain text if all are."""
    parts = tuple(texts)
    plain = [part for part in parts if isinstance(part, str)]
    return separator.join(plain) if len(plain) == len(parts) else Joined(parts, separator)
