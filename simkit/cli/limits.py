"""The limits of a command's answer: what it could not see. They stand in every form of output."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from simkit.cli import terminal
from simkit.cli.notes import complain, note
from simkit.present.escaping import markdown_cell

if TYPE_CHECKING:
    from simkit.seams.caveats import Caveat

COLUMN: Final = "caveats"
"""The column and the member of answers for programs."""
_SHOWN: dict[str, Caveat] = {}
"""The limits of the present command's answer, by their texts."""


def forget() -> None:
    """Start another command, whose answer has no limits so far."""
    _SHOWN.clear()


def limit(caveats: Iterable[Caveat]) -> None:
    """Note limits on standard error, and let all that is written from now on carry them."""
    for caveat in caveats:
        if caveat.text not in _SHOWN:
            _SHOWN[caveat.text] = caveat
            note(caveat.text)


def repeat_if_quiet() -> None:
    """Write the limits on standard error if ``--quiet`` suppressed the notes, for answers without a place for them."""
    if terminal.settings.quiet:
        for text in texts():
            complain(text)


def limit_as(attrs: Mapping[Any, Any]) -> None:
    """Note the limits of a table, whose ``attrs`` are given."""
    from simkit.seams.caveats import Caveat

    limit(Caveat("answer", text) for text in attrs.get("caveats", ()))


def caveats() -> Sequence[Caveat]:
    """The limits of the present command's answer."""
    return tuple(_SHOWN.values())


def texts() -> list[str]:
    """The limits as sentences."""
    return list(_SHOWN)


def quoted() -> str:
    """The limits as a quotation in markdown; empty if there are none."""
    return "".join(f"> {markdown_cell(text)}\n\n" for text in _SHOWN)


def of_rows(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> tuple[Sequence[str], Sequence[Any]]:
    """Columns and rows for programs: with a column for the limits, where there are any.

    An answer without rows gets one that is empty but for its limits, since an empty list would claim that it is whole.
    """
    if not _SHOWN:
        return columns, rows
    return (*columns, COLUMN), [{**row, COLUMN: texts()} for row in rows or [dict.fromkeys(columns)]]


def of_value(value: Mapping[str, Any] | Sequence[Any]) -> Mapping[str, Any] | Sequence[Any]:
    """A value for programs, with the limits in it, where there are any."""
    if not _SHOWN:
        return value
    if isinstance(value, Mapping):
        return {**value, COLUMN: texts()}
    return [{**each, COLUMN: texts()} if isinstance(each, Mapping) else each for each in value or [{}]]
