"""``date``: a time in a form.

References
----------
POSIX.1-2017, ``date``; options of GNU coreutils 9.1. The time zone is UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from simkit.simulation.shell.date_words import moment_of
from simkit.simulation.shell.effects import error, line
from simkit.simulation.shell.machine import Machine, Run
from simkit.simulation.shell.option_words import Syntax, UnknownOption

_SYNTAX: Final = Syntax(
    valued="drsDf3",
    attached="I",
    names={
        "date": "d", "reference": "r", "set": "s", "utc": "u", "universal": "u", "rfc-email": "R", "rfc-2822": "R",
        "iso-8601": "I", "rfc-3339": "3", "debug": "%",
    },
)  # fmt: skip
_USUAL: Final = "%a %b %e %H:%M:%S %Z %Y"
_ISO: Final[Mapping[str, str]] = {
    "": "%Y-%m-%d", "date": "%Y-%m-%d", "hours": "%Y-%m-%dT%H%:z", "minutes": "%Y-%m-%dT%H:%M%:z",
    "seconds": "%Y-%m-%dT%H:%M:%S%:z", "ns": "%Y-%m-%dT%H:%M:%S,%N%:z",
}  # fmt: skip
_OTHERS: Final = re.compile(r"%(?:(%)|[-_0^#]*(\d?)N|[-_0^#]*(s)|(::?)z|(q)|(P))")
_LAST: Final = 253_402_300_799
"""The end of the year 9999."""


def shown_time(moment: float, form: str) -> str:
    """A time in a form of ``date``.

    Examples
    --------
    >>> shown_time(10.5, "%F %T %s %3N %:z")
    '1970-01-01 00:00:10 10 500 +00:00'
    """
    at = datetime.fromtimestamp(max(-62_135_596_800.0, min(moment, _LAST)), UTC)

    def filled(found: re.Match[str]) -> str:
        if found[1]:
            return "%%"
        if found[3]:
            return str(int(moment // 1))
        if found[4]:
            return "+00:00"
        if found[5]:
            return str((at.month + 2) // 3)
        if found[6]:
            return "am" if at.hour < 12 else "pm"
        return f"{int(moment % 1 * 1e6 + 0.5):06}000"[: int(found[2] or 9)]

    return at.strftime(_OTHERS.sub(filled, form)) if form else ""


def _date(machine: Machine, words: list[str]) -> Run:
    try:
        given = _SYNTAX.read(words[1:])
    except UnknownOption as problem:
        yield error("date", str(problem))
        return 1
    form = next((word[1:] for word in given.rest if word.startswith("+")), None)
    wrong = next((word for word in given.rest if not word.startswith("+")), "")
    moment: float | None = machine.now
    if "d" in given:
        moment, wrong = moment_of(given.last("d"), machine.now), wrong or given.last("d")
        wrong = wrong if moment is None else ""
    elif "r" in given:
        path = machine.path(given.last("r"))
        if not machine.files.exists(path):
            yield error("date", f"{given.last('r')}: No such file or directory")
            return 1
        moment = machine.files.mark(path).time
    if wrong or moment is None:
        yield error("date", f"invalid date '{wrong}'")
        return 1
    if "s" in given:
        yield error("date", "cannot set date: Operation not permitted")
        return 1
    if form is None:
        form = "%a, %d %b %Y %H:%M:%S %z" if "R" in given else _USUAL
        form = _ISO.get(given.last("I"), _ISO[""]) if "I" in given else form
        form = _ISO.get(given.last("3"), _ISO[""]).replace("T", " ").replace(",", ".") if "3" in given else form
    yield line(shown_time(moment, form))
    return 0


DATE_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {"date": _date}
"""The commands of this module, by name."""
