"""``tr``: letters translated, squeezed or left out.

References
----------
POSIX.1-2017, ``tr``; options of GNU coreutils 9.1.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Mapping
from typing import Final

from simkit.simulation.shell.effects import error
from simkit.simulation.shell.machine import Machine, Read, Run, Write
from simkit.simulation.shell.option_words import Syntax, UnknownOption

_SYNTAX: Final = Syntax(names={"complement": "c", "delete": "d", "squeeze-repeats": "s", "truncate-set1": "t"})
_UPPER, _LOWER, _DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", "0123456789"
_PUNCTUATION: Final = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_CLASSES: Final[Mapping[str, str]] = {
    "upper": _UPPER,
    "lower": _LOWER,
    "digit": _DIGITS,
    "alpha": _UPPER + _LOWER,
    "alnum": _DIGITS + _UPPER + _LOWER,
    "punct": _PUNCTUATION,
    "space": "\t\n\v\f\r ",
    "blank": "\t ",
    "xdigit": _DIGITS + "ABCDEFabcdef",
    "cntrl": "".join(map(chr, range(32))) + "\x7f",
    "print": "".join(map(chr, range(32, 127))),
    "graph": "".join(map(chr, range(33, 127))),
}
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}
_PART: Final = re.compile(
    r"\[:(?P<class>[a-z]+):\]|\[=(?P<equal>.)=\]|\[(?P<repeated>\\[0-7]{1,3}|\\.|[^\\])\*(?P<times>\d{0,4})\]"
    r"|(?P<first>\\[0-7]{1,3}|\\.|[^\\]|\\\Z)(?:-(?P<last>\\[0-7]{1,3}|\\.|[^\\]))?",
    re.DOTALL,
)
_LAST_BYTE: Final = 0xFF
"""The last letter that may be an end of a range: ``tr`` knows single bytes alone."""
_MOST: Final = 1 << 20
"""Letters of a set."""


class _WrongSet(Exception):
    """A text that is no set of letters."""


def _letters(text: str, length: int = 0) -> str:
    """The letters that a set names; ``[x*]`` fills it up to a length. Raises _WrongSet.

    Examples
    --------
    >>> _letters("a-c\\\\n[:digit:]"), _letters("[x*]y", 3)
    ('abc\\n0123456789', 'xxy')
    """
    made, filler, size = list[str](), "", 0
    for found in _PART.finditer(text):
        if found["class"]:
            if found["class"] not in _CLASSES:
                raise _WrongSet(f"invalid character class '{found['class']}'")
            made.append(_CLASSES[found["class"]])
        elif found["equal"]:
            made.append(found["equal"])
        elif found["repeated"]:
            times = int(found["times"] or "0", 8 if (found["times"] or "").startswith("0") else 10)
            filler = filler or ("" if times else _letter(found["repeated"]))
            made.append(_letter(found["repeated"]) * times or "\0filled")
        else:
            made.append(_range(found["first"], found["last"]))
        size += len(made[-1])
        if size > _MOST:
            raise _WrongSet("the set has too many letters")
    known = sum(len(each) for each in made if each != "\0filled")
    return "".join(filler * max(0, length - known) if each == "\0filled" else each for each in made)


def _range(first: str, last: str | None) -> str:
    start = ord(_letter(first))
    end = start if last is None else ord(_letter(last))
    if max(start, end) > _LAST_BYTE and last is not None:
        return f"{first}-{last}"
    if end < start:
        raise _WrongSet(f"range-endpoints of '{first}-{last}' are in reverse collating sequence order")
    return "".join(map(chr, range(start, end + 1)))


def _letter(text: str) -> str:
    if text[:1] != "\\" or len(text) == 1:
        return text
    return chr(int(text[1:], 8) & 0xFF) if text[1:].isdigit() else _ESCAPES.get(text[1], text[1])


def _tr(machine: Machine, words: list[str]) -> Run:
    try:
        given = _SYNTAX.read(words[1:])
        if not given.rest:
            raise _WrongSet("missing operand")
        wanted = _letters(given.rest[0])
        into = _letters(given.rest[1], len(wanted)) if len(given.rest) > 1 else ""
    except (UnknownOption, _WrongSet) as problem:
        yield error("tr", str(problem))
        return 1
    decoder, others = getincrementaldecoder("utf-8")("replace"), given.any("cC")
    wanted = wanted[: len(into)] if "t" in given and into else wanted
    kept = frozenset(wanted)
    table = (
        {ord(letter): into[min(at, len(into) - 1)] for at, letter in reversed(list(enumerate(wanted)))} if into else {}
    )
    squeezed = frozenset((into if into else wanted) if "s" in given else "")
    last = ""
    while data := (yield Read(everything=True)):
        text = decoder.decode(data)
        if "d" in given:
            text = "".join(each for each in text if (each in kept) is others)
        elif into and others:
            text = "".join(each if each in kept else into[-1] for each in text)
        elif into:
            text = text.translate(table)
        if "s" in given:
            opposite = others and not into
            text, last = _squeezed(text, squeezed, last, opposite=opposite)
        if text:
            yield Write(text.encode())
    return 0


def _squeezed(text: str, letters: frozenset[str], last: str, *, opposite: bool) -> tuple[str, str]:
    """A text in which letters stand once where they follow each other, and its last letter."""
    made = []
    for each in text:
        if each != last or (each in letters) is opposite:
            made.append(each)
        last = each
    return "".join(made), last


TR_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {"tr": _tr}
"""The commands of this module, by name."""
