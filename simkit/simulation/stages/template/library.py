"""The functions of the library sprig that templates of stages use: texts, lists, maps and numbers.

References
----------
Masterminds/sprig, release 3 (docs of each function). Functions that read the environment, the network or files, and
those that make keys and certificates, are left out.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from random import Random
from typing import Any, Final

import orjson

from simkit.language.cel.lib_regex import PatternError, pattern
from simkit.simulation.stages.template.evaluation import shown, truth
from simkit.simulation.stages.template.functions import quoted
from simkit.simulation.stages.template.syntax import TemplateError

_MOST: Final = 100_000
"""The most letters or elements that a function makes."""
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_DIGITS: Final = "0123456789"
_GROUP: Final = re.compile(r"\$\{?(\w+)\}?")


def _whole(value: Any) -> int:
    """A number from a number or a text; 0 from anything else."""
    try:
        return int(float(value)) if value is not None else 0
    except (TypeError, ValueError):
        return 0


def _broken(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0


def _kind(value: Any) -> str:
    kinds = ((bool, "bool"), (str, "string"), (int, "int"), (float, "float64"), (Mapping, "map"), (Sequence, "slice"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "invalid")


def _map(*pairs: Any) -> dict[str, Any]:
    return {shown(pairs[n]): pairs[n + 1] if n + 1 < len(pairs) else "" for n in range(0, len(pairs), 2)}


def _merged(*maps: Mapping[str, Any]) -> dict[str, Any]:
    """Maps together; the first one that has a key counts."""
    found: dict[str, Any] = {}
    for each in maps:
        for key, value in each.items():
            if isinstance(found.get(key), Mapping) and isinstance(value, Mapping):
                found[key] = _merged(found[key], value)
            elif key not in found:
                found[key] = value
    return found


def _repeated(count: int, text: str) -> str:
    if count * len(text) > _MOST:
        raise TemplateError(f"repeat makes more than {_MOST:,} letters")
    return text * count


def _numbers(*bounds: int) -> list[int]:
    found = range(*bounds)
    if len(found) > _MOST:
        raise TemplateError(f"more than {_MOST:,} numbers")
    return list(found)


def _indented(width: int, text: str) -> str:
    pad = " " * min(width, _MOST)
    return "\n".join(pad + line for line in text.split("\n"))


def _truncated(length: int, text: str) -> str:
    return text[:length] if length >= 0 else text[length:]


def _distinct(values: Sequence[Any]) -> list[Any]:
    return reduce(lambda found, each: found if each in found else [*found, each], values, list[Any]())


def _pattern(text: str) -> Any:
    try:
        return pattern(text)
    except PatternError as error:
        raise TemplateError(str(error)) from error


def _replaced(text: str, old: str, new: str) -> str:
    """A text with a pattern replaced, where ``$1`` and ``${name}`` stand for groups; unknown ones for nothing."""

    def expanded(found: Any) -> str:
        named = found.groupdict()

        def group(word: str) -> str:
            if word.isdecimal():
                return (found.group(int(word)) or "") if int(word) <= len(found.groups()) else ""
            return named.get(word) or ""

        return _GROUP.sub(lambda reference: group(reference[1]), new)

    made: str = _pattern(old).sub(expanded, text)
    return made


def _first_of(values: Sequence[Any]) -> Any:
    return next((each for each in values if truth(each)), None)


TEXTS: Final[Mapping[str, Callable[..., Any]]] = {
    "upper": lambda text: text.upper(),
    "lower": lambda text: text.lower(),
    "title": lambda text: re.sub(r"\b\w", lambda found: found.group().upper(), text),
    "trim": lambda text: text.strip(),
    "trimAll": lambda cut, text: text.strip(cut),
    "trimPrefix": lambda prefix, text: text.removeprefix(prefix),
    "trimSuffix": lambda suffix, text: text.removesuffix(suffix),
    "nospace": lambda text: "".join(text.split()),
    "contains": lambda part, text: part in text,
    "hasPrefix": lambda prefix, text: text.startswith(prefix),
    "hasSuffix": lambda suffix, text: text.endswith(suffix),
    "replace": lambda old, new, text: text.replace(old, new),
    "repeat": _repeated,
    "substr": lambda start, end, text: text[max(0, start) : end if end >= 0 else None],
    "trunc": _truncated,
    "indent": _indented,
    "nindent": lambda width, text: "\n" + _indented(width, text),
    "quote": lambda *values: " ".join(quoted(shown(each)) for each in values if each is not None),
    "squote": lambda *values: " ".join(f"'{shown(each)}'" for each in values if each is not None),
    "cat": lambda *values: " ".join(shown(each) for each in values if each is not None),
    "toString": shown,
    "join": lambda separator, values: separator.join(shown(each) for each in values if each is not None),
    "splitList": lambda separator, text: text.split(separator),
    "split": lambda separator, text: {f"_{n}": each for n, each in enumerate(text.split(separator))},
    "b64enc": lambda text: base64.b64encode(text.encode()).decode(),
    "b64dec": lambda text: base64.b64decode(text).decode(),
    "sha256sum": lambda text: hashlib.sha256(text.encode()).hexdigest(),
    "regexMatch": lambda wanted, text: _pattern(wanted).search(text) is not None,
    "regexReplaceAll": lambda old, text, new: _replaced(text, old, new),
    "toJson": lambda value: orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode(),
    "fromJson": orjson.loads,
}
COLLECTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "default": lambda default, value=None: value if truth(value) else default,
    "empty": lambda value: not truth(value),
    "coalesce": lambda *values: _first_of(values),
    "all": lambda *values: all(map(truth, values)),
    "any": lambda *values: any(map(truth, values)),
    "ternary": lambda yes, no, condition: yes if condition else no,
    "kindOf": _kind,
    "kindIs": lambda kind, value: _kind(value) == kind,
    "dict": _map,
    "get": lambda held, key: held.get(key, ""),
    "set": lambda held, key, value: {**held, key: value},
    "unset": lambda held, key: {name: value for name, value in held.items() if name != key},
    "hasKey": lambda held, key: key in held,
    "keys": lambda *maps: [key for each in maps for key in each],
    "values": lambda held: list(held.values()),
    "pick": lambda held, *keys: {key: held[key] for key in keys if key in held},
    "omit": lambda held, *keys: {key: value for key, value in held.items() if key not in keys},
    "merge": _merged,
    "dig": lambda *words: reduce(
        lambda held, key: held.get(key, words[-2]) if isinstance(held, Mapping) else words[-2], words[:-2], words[-1]
    ),
    "list": lambda *values: list(values),
    "tuple": lambda *values: list(values),
    "first": lambda values: values[0] if values else None,
    "last": lambda values: values[-1] if values else None,
    "rest": lambda values: list(values[1:]),
    "initial": lambda values: list(values[:-1]),
    "append": lambda values, value: [*values, value],
    "prepend": lambda values, value: [value, *values],
    "concat": lambda *lists: [each for values in lists for each in values],
    "reverse": lambda values: list(reversed(values)),
    "uniq": _distinct,
    "has": lambda value, values: value in (values or ()),
    "without": lambda values, *dropped: [each for each in values if each not in dropped],
    "compact": lambda values: [each for each in values if truth(each)],
    "sortAlpha": lambda values: sorted(map(shown, values)),
    "until": lambda count: _numbers(count),
    "untilStep": lambda start, stop, step: _numbers(start, stop, step),
}
NUMBERS: Final[Mapping[str, Callable[..., Any]]] = {
    "int": _whole,
    "int64": _whole,
    "float64": _broken,
    "atoi": _whole,
    "add": lambda *values: sum(map(_whole, values)),
    "add1": lambda value: _whole(value) + 1,
    "sub": lambda first, second: _whole(first) - _whole(second),
    "mul": lambda *values: math.prod(map(_whole, values)),
    "div": lambda first, second: int(_whole(first) / _whole(second)),
    "mod": lambda first, second: int(math.fmod(_whole(first), _whole(second))),
    "addf": lambda *values: sum(map(_broken, values)),
    "subf": lambda first, *others: _broken(first) - sum(map(_broken, others)),
    "mulf": lambda *values: math.prod(map(_broken, values)),
    "divf": lambda first, *others: _broken(first) / math.prod(map(_broken, others)),
    "max": lambda *values: max(map(_whole, values)),
    "min": lambda *values: min(map(_whole, values)),
    "ceil": lambda value: float(math.ceil(_broken(value))),
    "floor": lambda value: float(math.floor(_broken(value))),
    "round": lambda value, digits: round(_broken(value), digits),
}


def chance(random: Random) -> Mapping[str, Callable[..., Any]]:
    """The functions whose results are different each time, for a source of chance that may be seeded."""

    def text(letters: str, length: int) -> str:
        return "".join(random.choice(letters) for _ in range(min(length, _MOST)))

    return {
        "randInt": lambda start, end: random.randrange(start, end),
        "randAlpha": lambda length: text(_LETTERS, length),
        "randNumeric": lambda length: text(_DIGITS, length),
        "randAlphaNum": lambda length: text(_LETTERS + _DIGITS, length),
        "shuffle": lambda given: "".join(random.sample(given, len(given))),
        "uuidv4": lambda: "-".join(f"{random.getrandbits(4 * size):0{size}x}" for size in (8, 4, 4, 4, 12)),
    }
