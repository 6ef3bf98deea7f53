"""Times and bytes in strings, as Go reads and writes them.

The wording of errors follows its time and base64 packages, since clients see it.

Follows Go's packages time and encoding/base64.
"""

from __future__ import annotations

import binascii
import re
from datetime import UTC, datetime, timedelta
from typing import Final

SECONDS_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"
MICRO_LAYOUT: Final = "2006-01-02T15:04:05.000000Z07:00"

_DAY: Final = (
    r"(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"  # month-day
)
_PLAIN_SECONDS: Final = re.compile(rf"[0-9]{{4}}-{_DAY}T(?:[01][0-9]|2[0-3])(?::[0-5][0-9]){{2}}Z")
_PLAIN_MICRO: Final = re.compile(_PLAIN_SECONDS.pattern.removesuffix("Z") + r"\.[0-9]{6}Z")
_ZERO: Final = "0001-01-01T00:00:00Z"


class TextError(ValueError):
    """A string that cannot be parsed; the message is kube-apiserver's."""


def canonical_time(text: str) -> str | None:
    """A time in UTC and whole seconds; None for the zero time, which is written as null.

    Examples
    --------
    >>> canonical_time("2024-05-01T12:00:00.5+02:00")
    '2024-05-01T10:00:00Z'
    """
    if _PLAIN_SECONDS.fullmatch(text):
        return text if text != _ZERO else None
    moment, _ = _read(text, SECONDS_LAYOUT, fraction=False)
    return _written(moment, "")


def canonical_micro_time(text: str) -> str | None:
    """A time in UTC with the six digits of fraction that it must have; None for the zero time."""
    if _PLAIN_MICRO.fullmatch(text):
        return text if not text.startswith(_ZERO[:-1]) or text[20:26] != "000000" else None
    moment, nanoseconds = _read(text, MICRO_LAYOUT, fraction=True)
    return _written(moment, f".{nanoseconds // 1000:06d}")


def _written(moment: datetime, fraction: str) -> str | None:
    if moment.year == 1 and moment.timetuple().tm_yday == 1 and not (moment.hour or moment.minute or moment.second):
        return None
    return f"{moment:%Y-%m-%dT%H:%M:%S}".rjust(19, "0") + f"{fraction}Z"


_DIGITS: Final = (("2006", 4), ("-", 0), ("01", 2), ("-", 0), ("02", 2), ("T", 0))
_CLOCK: Final = (("15", 2), (":", 0), ("04", 2), (":", 0), ("05", 2))
_RANGES: Final = {"01": (1, 12, "month"), "15": (0, 23, "hour"), "04": (0, 59, "minute"), "05": (0, 59, "second")}


def _read(text: str, layout: str, *, fraction: bool) -> tuple[datetime, int]:
    """A time in UTC and its nanoseconds. Raises TextError at the first part that does not fit."""
    found: dict[str, int] = {}
    rest = text
    for element, width in (*_DIGITS, *_CLOCK):
        rest = _piece(text, layout, rest, element, width, found)
    rest, nanoseconds = _fraction(text, layout, rest, required=fraction)
    rest, offset = _zone(text, layout, rest)
    if rest:
        raise TextError(f"{_about(text, layout)}: extra text: {_quoted(rest)}")
    try:
        moment = datetime(found["2006"], found["01"], found["02"], found["15"], found["04"], found["05"], tzinfo=UTC)
    except ValueError:
        raise TextError(f"parsing time {_quoted(text)}: day out of range") from None
    try:
        return moment - timedelta(seconds=offset), nanoseconds
    except OverflowError:
        return moment, nanoseconds


def _piece(text: str, layout: str, rest: str, element: str, width: int, found: dict[str, int]) -> str:
    head = rest[: width or 1]
    fits = len(head) == width and head.isascii() and head.isdigit() if width else head == element
    if not fits:
        raise TextError(f"{_about(text, layout)}: cannot parse {_quoted(rest)} as {_quoted(element)}")
    if width:
        found[element] = int(head)
        low, high, word = _RANGES.get(element, (0, 9999, ""))
        if not low <= found[element] <= high:
            raise TextError(f"parsing time {_quoted(text)}: {word} out of range")
    return rest[len(head) :]


def _fraction(text: str, layout: str, rest: str, *, required: bool) -> tuple[str, int]:
    """The rest after the fraction of a second, and its nanoseconds."""
    match = re.match(r"[.,]([0-9]+)", rest, re.ASCII)
    digits = match[1] if match else ""
    if required:
        if len(digits) < 6:
            raise TextError(f"{_about(text, layout)}: cannot parse {_quoted(rest)} as {_quoted('.000000')}")
        digits = digits[:6]
    return rest[len(digits) + 1 :] if digits else rest, int(digits[:9].ljust(9, "0")) if digits else 0


def _zone(text: str, layout: str, rest: str) -> tuple[str, int]:
    """The rest after the time zone, and its offset in seconds."""
    if rest.startswith("Z"):
        return rest[1:], 0
    match = re.match(r"([+-])([0-9]{2}):([0-9]{2})", rest, re.ASCII)
    if match is None:
        raise TextError(f"{_about(text, layout)}: cannot parse {_quoted(rest)} as {_quoted('Z07:00')}")
    hours, minutes = int(match[2]), int(match[3])
    if hours > 24 or minutes > 60:
        word = "hour" if hours > 24 else "minute"
        raise TextError(f"parsing time {_quoted(text)}: time zone offset {word} out of range")
    offset = 3600 * hours + 60 * minutes
    return rest[6:], offset if match[1] == "+" else -offset


def _about(text: str, layout: str) -> str:
    return f"parsing time {_quoted(text)} as {_quoted(layout)}"


def _quoted(text: str) -> str:
    """The text quoted as by Go's time package: other characters than printable ASCII as escaped bytes."""
    out = []
    for char in text:
        if char in '"\\':
            out.append(f"\\{char}")
        elif " " <= char < "\x7f":
            out.append(char)
        else:
            out.append("".join(f"\\x{byte:02x}" for byte in char.encode()))
    return f'"{"".join(out)}"'


_ALPHABET: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def canonical_base64(text: str) -> str:
    """Base64 text without line breaks and stray bits. Raises TextError with the position of the error.

    Examples
    --------
    >>> canonical_base64("aGVs\\nbG8=")
    'aGVsbG8='
    """
    try:
        raw = binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        plain = text.replace("\r", "").replace("\n", "")
        position = _corrupt_at(text)
        if position is not None:
            raise TextError(f"illegal base64 data at input byte {position}") from None
        raw = binascii.a2b_base64(plain)
    return binascii.b2a_base64(raw, newline=False).decode()


def _corrupt_at(text: str) -> int | None:
    """The byte at which the decoder fails; None for valid text."""
    data = text.encode(errors="surrogatepass").decode("latin-1")
    at, end, filled = 0, len(data), 0
    while at < end:
        char = data[at]
        at += 1
        if char in "\r\n":
            continue
        if char in _ALPHABET:
            filled = (filled + 1) % 4
        elif char == "=" and filled >= 2:
            return _corrupt_padding(data, at, filled)
        else:
            return at - 1
    return end - filled if filled else None


def _corrupt_padding(data: str, at: int, filled: int) -> int | None:
    """The byte at which the decoder fails after the first padding character."""
    rest = [(index, char) for index, char in enumerate(data[at:], at) if char not in "\r\n"]
    if filled == 2:
        if not rest:
            return len(data)
        if rest[0][1] != "=":
            return rest[0][0] - 1
        rest = rest[1:]
    return rest[0][0] if rest else None
