"""Formats and numbers of OpenAPI schemas: ranges, factors and limits. An unknown format is not checked.

Follows ``k8s.io/kube-openapi/pkg/validation/strfmt``, ``numberValidator`` of
``k8s.io/kube-openapi/pkg/validation/validate`` and
``k8s.io/apiextensions-apiserver/pkg/apiserver/validation/formats.go``, releases 1.30 and 1.36.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Final

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.duration import nanoseconds
from simkit.meta.fielderror import FieldError
from simkit.meta.go_fmt import format_float
from simkit.meta.integers import is_digits, parse_int, saturating_int
from simkit.schema.custom import messages

Format = Callable[[str], bool]

_TIME: Final = re.compile(r"(\d\d):(\d\d):(\d\d)(\.\d+)?([zZ]|[+-]\d\d:\d\d)", re.ASCII)
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_LOOSE_DURATION: Final = re.compile(r"(?<![0-9])([0-9]++)[ \t\n\r\f\v]*+([A-Za-zµ]++)")
_UNITS: Final = {
    ("ns", "nano"): 1,
    ("us", "µs", "micro"): 10**3,
    ("ms", "milli"): 10**6,
    ("s", "sec"): 10**9,
    ("m", "min"): 60 * 10**9,
    ("h", "hr", "hour"): 3600 * 10**9,
    ("d", "day"): 86400 * 10**9,
    ("w", "wk", "week"): 604800 * 10**9,
}
"""The nanoseconds of units by their names; words that begin with the last one are names, too."""
_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
_MAC: Final = re.compile(
    r"([0-9a-fA-F]{2}([:-]))(?:[0-9a-fA-F]{2}\2)*[0-9a-fA-F]{2}|(?:[0-9a-fA-F]{4}\.)+[0-9a-fA-F]{4}"
)
_EMAIL: Final = re.compile(r"[^\s@<>\"(),:;\[\]\\]+@[^\s@<>\"(),:;\[\]\\]+")


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_moment(text: str) -> bool:
    day, mark, time = text[:10], text[10:11], text[11:]
    found = _TIME.fullmatch(time)
    if mark not in ("t", "T") or found is None or not _is_date(day):
        return False
    return int(found[1]) < 24 and int(found[2]) < 60 and int(found[3]) < 60


def parse_duration(text: str) -> int | None:
    """The nanoseconds of a duration in Go's format, or of all numbers before units in a text; None if there are none.

    Examples
    --------
    >>> parse_duration("1h"), parse_duration("2 days and 3 Seconds"), parse_duration("2 apples")
    (3600000000000, 172803000000000, None)
    """
    try:
        return nanoseconds(text)
    except ValueError:
        total: int | None = None
    for amount, unit in _LOOSE_DURATION.findall(text):
        number = parse_int(amount)
        if number is None:
            return None
        for names, size in _UNITS.items():
            if unit.lower() in names or unit.lower().startswith(names[-1]):
                total = (total or 0) + number * size
    return total


def _is_address(version: int) -> Format:
    def check(text: str) -> bool:
        try:
            return "%" not in text and ipaddress.ip_address(text).version == version
        except ValueError:
            return False

    return check


def _is_range(text: str) -> bool:
    address, mark, length = text.partition("/")
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    return bool(mark) and is_digits(length) and (saturating_int(length) or 0) <= found.max_prefixlen


def _is_uri(text: str) -> bool:
    """True for an absolute URI, or a path that starts at the root."""
    if not text or any(ord(letter) <= 0x20 or letter == "\x7f" for letter in text):
        return False
    if text.startswith("/"):
        return True
    scheme, mark, rest = text.partition(":")
    if not mark or not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme):
        return False
    host = rest[2:].split("/")[0] if rest.startswith("//") else ""
    port = re.search(r":([^\]:]*)$", host)
    return port is None or not port[1] or is_digits(port[1])


def _is_hostname(text: str) -> bool:
    *labels, last = text.split(".")
    if len(text.encode()) > 255 or any(len(label.encode()) > 63 for label in (*labels, last)):
        return False
    if not labels:  # a name without dots may have one hyphen, behind its first letter
        return bool(text) and all(map(_is_host_letter, text[0] + text[1:].removeprefix("-")))
    return all(map(_is_host_label, labels)) and len(last) >= 2 and all(_category(letter) == "L" for letter in last)


def _is_host_label(label: str) -> bool:
    ends = label and _is_host_letter(label[0]) and _is_host_letter(label[-1])
    return bool(ends) and all(letter == "-" or _is_host_letter(letter) for letter in label)


def _is_host_letter(letter: str) -> bool:
    """True for letters and symbols of all scripts, and the ten digits."""
    return letter in "0123456789" or _category(letter) in "LS"


def _category(letter: str) -> str:
    """The first letter of a character's general category in Unicode."""
    from unicodedata import category

    return category(letter)[0]


def _is_mac(text: str) -> bool:
    return bool(_MAC.fullmatch(text)) and len(re.sub(r"[:.-]", "", text)) in (12, 16, 40)


def _matches(pattern: str) -> Format:
    compiled = re.compile(pattern)
    return lambda text: compiled.fullmatch(text) is not None


def _uuid(version: str) -> Format:
    """The format of a UUID without required dashes; versions 4 and 5 also fix the variant."""
    variant = "[0-9a-f]" if version in ("3", "[0-9a-f]") else "[89ab]"
    return _matches(
        rf"(?i)[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{version}[0-9a-f]{{3}}-?{variant}[0-9a-f]{{3}}-?[0-9a-f]{{12}}"
    )


def _digits(text: str) -> str:
    return re.sub(r"[\s-]", "", text)


def _is_isbn10(text: str) -> bool:
    found = _digits(text)
    if not re.fullmatch(r"\d{9}[\dXx]", found):
        return False
    values = [10 if digit in "Xx" else int(digit) for digit in found]
    return sum(value * weight for value, weight in zip(values, range(10, 0, -1), strict=True)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    found = _digits(text)
    return bool(re.fullmatch(r"\d{13}", found)) and (
        sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(found)) % 10 == 0
    )


def _is_card(text: str) -> bool:
    found = re.sub(r"\D", "", text)
    if not 13 <= len(found) <= 19:
        return False
    doubled = [int(digit) * (2 if place % 2 else 1) for place, digit in enumerate(reversed(found))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def _anything(text: str) -> bool:
    return True


_COLOR: Final = r"(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
FORMATS: Final[Mapping[str, Format]] = {
    "datetime": _is_moment,
    "date": _is_date,
    "duration": lambda text: parse_duration(text) is not None,
    "ipv4": _is_address(4),
    "ipv6": _is_address(6),
    "cidr": _is_range,
    "mac": _is_mac,
    "uri": _is_uri,
    "email": lambda text: _EMAIL.fullmatch(text) is not None,
    "hostname": _is_hostname,
    "byte": lambda text: _BASE64.fullmatch(text) is not None,
    "password": _anything,
    "uuid": _uuid("[0-9a-f]"),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4"),
    "uuid5": _uuid("5"),
    "bsonobjectid": _matches("[0-9a-fA-F]{24}"),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_card,
    "ssn": _matches(r"\d{3}[- ]?\d{2}[- ]?\d{4}"),
    "hexcolor": _matches("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _matches(rf"rgb\(\s*{_COLOR}\s*,\s*{_COLOR}\s*,\s*{_COLOR}\s*\)"),
}
"""The formats by name, without dashes."""
_LABEL: Final = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_short_name, _long_name = _matches(_LABEL), _matches(rf"{_LABEL}(?:\.{_LABEL})*")
NAMES: Final[Mapping[str, Format]] = {
    "k8sshortname": lambda text: len(text.encode()) <= 63 and _short_name(text),
    "k8slongname": lambda text: len(text.encode()) <= 253 and _long_name(text),
}
"""The formats of names of objects, which later releases know."""
_OF_NUMBERS: Final = {"integer": ("int32", "int64"), "number": ("float", "double")}


def format_named(behaviour: ServedBehaviour, name: str) -> Format | None:
    """The check of a format; None for an unknown one.

    Examples
    --------
    >>> behaviour = ServedBehaviour(30)
    >>> format_named(behaviour, "date-time")("2020-01-01T00:00:00Z"), format_named(behaviour, "unheard-of") is None
    (True, True)
    """
    name = name.replace("-", "")
    return FORMATS.get(name) or (NAMES.get(name) if behaviour.applies("names-as-formats") else None)


def checked_format(behaviour: ServedBehaviour, types: Sequence[str], name: str) -> str:
    """The format of a custom resource's field if the release that answers checks it for its types, or empty.

    Examples
    --------
    >>> behaviour = ServedBehaviour(30)
    >>> checked_format(behaviour, ["string"], "date-time"), checked_format(behaviour, ["integer"], "int32")
    ('date-time', '')
    """
    if len(types) == 1 and types[0] != "string" and behaviour.applies("formats-by-type"):
        return name if name in _OF_NUMBERS.get(types[0], ()) else ""
    return name if format_named(behaviour, name) is not None else ""


_NEARLY: Final = 1e-9
_BITS: Final = {"int32": 31}
_GREATEST_FLOAT: Final = float.fromhex("0x1.ffffffp127")
"""From here on a number rounds to no 32-bit fraction."""


def is_whole(number: float) -> bool:
    """True if a fraction counts as an integer: nearly one, and small enough to be exact."""
    if not abs(number) < 2**53:
        return False
    return number.is_integer() or (number > 1 and (number % 1) / (number + number // 1) < _NEARLY)


def number_errors(
    behaviour: ServedBehaviour, properties: Mapping[str, Any], types: Sequence[str], form: str, value: float, path: str
) -> Iterator[FieldError]:
    """The errors of a number; ``form`` is the format that is checked, or empty."""
    ranged = len(types) == 1 and behaviour.applies("numbers-in-range")
    if ranged:
        yield from _outside(value, "Checked", types[0], form, path)
    yield from _against_factor(properties.get("multipleOf"), ranged, types, form, value, path)
    for name, told in (("minimum", "greater than"), ("maximum", "less than")):
        limit = properties.get(name)
        if limit is None:
            continue
        if ranged:
            yield from _outside(limit, f"{name.capitalize()} boundary", types[0], form, path)
        strict = bool(properties.get(f"exclusive{name.capitalize()}"))
        beyond = value < limit if name == "minimum" else value > limit
        if beyond or (strict and value == limit):
            rule = told if strict else f"{told} or equal to"
            yield messages.against(path, value, f"should be {rule} {_limit(limit, value)}")


def _against_factor(
    factor: float | None, ranged: bool, types: Sequence[str], form: str, value: float, path: str
) -> Iterator[FieldError]:
    if factor is None:
        return
    if ranged:
        yield from _outside(factor, "MultipleOf", types[0], form, path)
    if isinstance(value, int):
        factor = int(factor)  # whole numbers are divided by whole factors, as MultipleOfNativeType does
    if factor <= 0:
        yield messages.bad_factor(path, _limit(factor, value))
    elif not _divides(factor, value):
        yield messages.against(path, value, f"should be a multiple of {_limit(factor, value)}")


def _outside(number: float, what: str, kind: str, form: str, path: str) -> Iterator[FieldError]:
    """The error of a number of the value or the schema that its type and format cannot hold."""
    if kind == "integer":
        limit = 2 ** _BITS.get(form, 63)
        fits = float(number).is_integer() and -limit <= int(number) < limit
    elif kind == "number" and form == "float":
        fits = abs(number) < _GREATEST_FLOAT
    else:
        return
    if not fits:
        name = f"with format {form}" if form else "(default format)"
        yield messages.as_a_whole(f"{what} value must be of type {kind} {name} in {path}")


def _limit(limit: float, value: float) -> str:
    """A limit as written beside a value: whole beside whole numbers."""
    return str(int(limit)) if isinstance(value, int) else format_float(float(limit))


def _divides(factor: float, value: float) -> bool:
    if isinstance(value, int):
        return value % int(factor) == 0
    quotient = 1 / factor * value if factor < 1 else value / factor
    if not abs(quotient) < 2**53:
        return False
    return quotient.is_integer() or abs(quotient - round(quotient)) < _NEARLY * abs(round(quotient))
