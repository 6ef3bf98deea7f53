"""Values without a Python type of their own: unsigned numbers, durations, timestamps, optionals, types.

Everything else is plain Python: bool, int, float, str, bytes, None, lists and mappings.

cel-go 0.17, common/types.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from simkit.language.cel.errors import EvaluationError
from simkit.meta.duration import nanoseconds

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
UINT_MAX: Final = 2**64 - 1
_BILLION: Final = 10**9
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MOMENT_MIN: Final = -62135596800 * _BILLION
_MOMENT_MAX: Final = 253402300799 * _BILLION + 999_999_999


class UInt(int):
    """An unsigned number. Equal to the same int, distinguished by its class."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, repr=False)
class CelType:
    """A type as a value: the result of ``type(x)``."""

    name: str

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


class BoolKey:
    """A bool as a key of a map, so that ``true`` and ``1`` are two keys."""

    __slots__ = ("value",)

    def __init__(self, value: bool) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)


BOOL_KEYS: Final = {True: BoolKey(True), False: BoolKey(False)}


@dataclass(frozen=True, slots=True, repr=False)
class Optional:
    """A value that may be missing."""

    present: bool
    value: Any = None

    def __repr__(self) -> str:
        return f"optional.of({self.value!r})" if self.present else "optional.none()"


NONE: Final = Optional(False)


@dataclass(frozen=True, slots=True, order=True, repr=False)
class Duration:
    """A length of time in nanoseconds, within the range of 64 bits."""

    nanos: int

    def __repr__(self) -> str:
        return f"duration('{self}')"

    def __str__(self) -> str:
        seconds, rest = divmod(abs(self.nanos), _BILLION)
        fraction = f"{rest:09d}".rstrip("0")
        return f"{'-' if self.nanos < 0 else ''}{seconds}{'.' if fraction else ''}{fraction}s"


@dataclass(frozen=True, slots=True, order=True, repr=False)
class Timestamp:
    """A moment in nanoseconds since the epoch, in the years 1 to 9999.

    ``offset`` is the zone in which it was written, in seconds; only its text shows it.
    """

    nanos: int
    offset: int = field(default=0, compare=False)

    def __repr__(self) -> str:
        return f"timestamp('{self}')"

    def __str__(self) -> str:
        seconds, rest = divmod(self.nanos, _BILLION)
        fraction = f"{rest:09d}".rstrip("0")
        moment = _EPOCH + timedelta(seconds=seconds + self.offset)
        minutes = abs(self.offset) // 60
        zone = f"{'-' if self.offset < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}" if self.offset else "Z"
        return f"{moment.year:04d}{moment:-%m-%dT%H:%M:%S}{'.' if fraction else ''}{fraction}{zone}"

    def local(self, zone: str = "") -> datetime:
        """The calendar time in a zone (an offset such as ``-08:00`` or a name); UTC by default."""
        moment = _EPOCH + timedelta(seconds=self.nanos // _BILLION)
        if not zone or zone == "UTC":
            return moment
        offset = _OFFSET.fullmatch(zone)
        if offset:
            minutes = int(offset[2]) * 60 + int(offset[3])
            return moment + timedelta(minutes=-minutes if offset[1] == "-" else minutes)
        from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # for zones by name alone

        try:
            return moment.astimezone(ZoneInfo(zone))
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise EvaluationError(f"unknown time zone {zone}") from None


_OFFSET = re.compile(r"([+-]?)(\d\d):(\d\d)")
_MOMENT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:([Zz])|([+-])(\d\d):(\d\d))", re.ASCII
)


def duration(nanos: int) -> Duration:
    """A duration; EvaluationError outside 64 bits."""
    if not INT_MIN <= nanos <= INT_MAX:
        raise EvaluationError("duration overflow")
    return Duration(nanos)


def timestamp(nanos: int, offset: int = 0) -> Timestamp:
    """A timestamp; EvaluationError outside the years 1 to 9999."""
    if not _MOMENT_MIN <= nanos <= _MOMENT_MAX:
        raise EvaluationError("timestamp overflow")
    return Timestamp(nanos, offset)


def parsed_duration(text: str) -> Duration | None:
    """The duration in a text such as ``1h30m`` or ``-1.5s``; None if it is none."""
    try:
        return Duration(nanoseconds(text))
    except ValueError:
        return None


def parsed_timestamp(text: str) -> Timestamp | None:
    """The timestamp in an RFC 3339 text; None if it is none or out of range."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    try:
        moment = datetime(*(int(found[index]) for index in range(1, 7)), tzinfo=UTC)  # type: ignore[misc,arg-type]
    except ValueError:
        return None
    whole = moment - _EPOCH
    seconds = whole.days * 86400 + whole.seconds
    offset = 0
    if found[9]:
        offset = (int(found[10]) * 3600 + int(found[11]) * 60) * (1 if found[9] == "+" else -1)
    seconds -= offset
    nanos = seconds * _BILLION + int((found[7] or "0")[:9].ljust(9, "0"))
    return Timestamp(nanos, offset) if _MOMENT_MIN <= nanos <= _MOMENT_MAX else None


KINDS: Final[Mapping[type, str]] = {
    bool: "bool",
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null",
    list: "list",
    tuple: "list",
    dict: "map",
    CelType: "type",
    Duration: "duration",
    Timestamp: "timestamp",
    Optional: "optional",
}
"""The kind of each Python class; classes of libraries carry their own under ``cel_kind``."""


NUMBERS: Final = frozenset({"int", "uint", "double"})
"""The kinds of numbers."""


def kind_of(value: Any) -> str:
    """The kind of a value: a key of KINDS, list or map for any sequence or mapping, else its class's ``cel_kind``."""
    found = KINDS.get(type(value))
    if found is not None:
        return found
    declared = getattr(value, "cel_kind", None)
    if declared is not None:
        return str(declared)
    if isinstance(value, Mapping):
        return "map"
    return "list" if isinstance(value, Sequence) else "dyn"
