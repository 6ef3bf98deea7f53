"""Parsers for the values of flags."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from simkit.snapshot.unpacking import Limits

_MOST_NODES: Final = 20_000
LEVELS: Final = ("info", "low", "medium", "high", "critical")
"""The severities, from the least severe to the most severe."""
_WORDS: Final = {"true": True, "false": False, "t": True, "f": False, "1": True, "0": False}


def port(text: str) -> int:
    """A port number, 0 included."""
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; give a number from 0 to 65535")
    return int(text)


def number(text: str) -> int:
    """A count from 1 on."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no count; give a number from 1 on")
    return int(text)


def count_of_nodes(text: str) -> int:
    """A number of simulated nodes."""
    if not text.isascii() or not text.isdigit() or int(text) > _MOST_NODES:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of nodes from 0 to {_MOST_NODES:,}")
    return int(text)


def rate(text: str) -> float:
    """A number that is not negative, such as 0.1."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no rate; give a number such as 0.1")
    return found


def ports(text: str) -> tuple[int, int]:
    """A range of ports, both ends included: ``30000-32767``, or the first and the count, ``30000+2767``."""
    first, sign, second = text.partition("-") if "-" in text else text.partition("+")
    low, number = port(first), port(second or first)
    high = low + number if sign == "+" else number
    if low < 1 or not low <= high <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no range of ports; write it like 30000-32767")
    return low, high


def namespace(text: str) -> str:
    """The name of a namespace. An empty text is refused: it may come from a variable that is not set."""
    if not text.strip():
        raise argparse.ArgumentTypeError("an empty text names no namespace; leave the option out for all of them")
    return text


def flag(text: str) -> bool:
    """A boolean, in any of its spellings."""
    if text.lower() not in _WORDS:
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return _WORDS[text.lower()]


def unpack_limits(text: str) -> Limits:
    """``bytes=64Gi,ratio=1000,nesting=5`` as limits; what is not named keeps its default."""
    from simkit.meta.quantity import NANO, QuantityError, parse
    from simkit.snapshot.unpacking import DEFAULT_LIMITS

    fields, found = {"bytes": "unpacked_bytes", "ratio": "ratio", "nesting": "nesting"}, dict[str, int]()
    for item in words(text):
        name, _, value = item.partition("=")
        try:
            found[fields[name]] = parse(value).nano // NANO
        except (KeyError, QuantityError):
            raise argparse.ArgumentTypeError(f"{item!r} is no limit; write it like bytes=64Gi,ratio=1000") from None
    return replace(DEFAULT_LIMITS, **found)


def seconds(text: str) -> float:
    """A duration such as 1m30s, in seconds."""
    from simkit.meta import duration

    try:
        return duration.seconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{error}; write it like 30s or 1h30m") from None


def words(text: str) -> tuple[str, ...]:
    """The words of a comma-separated list."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def gate_switches(text: str) -> dict[str, bool]:
    """``A=true,B=false`` as a mapping; unlike elsewhere, every name needs its value."""
    for item in words(text):
        if "=" not in item:
            raise argparse.ArgumentTypeError(f"missing bool value for {item}")
    return switches(text)


class Merging(argparse.Action):
    """A flag with a mapping that may be given several times; later entries win."""

    def __call__(
        self, parser: object, namespace: argparse.Namespace, values: Any, option_string: object = None
    ) -> None:
        """Add the given entries to the earlier ones."""
        setattr(namespace, self.dest, {**(getattr(namespace, self.dest) or {}), **values})


def switches(text: str) -> dict[str, bool]:
    """``a=true,b=false`` as a mapping; a name without a value is true."""
    found = {}
    for item in words(text):
        name, _, value = item.partition("=")
        found[name] = flag(value or "true")
    return found
