"""Every regular expression of Python's ``re`` in the source, and how the price of the worst texts for one grows."""

from __future__ import annotations

import ast
import re
import re._constants as codes
import re._parser as parser
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any, Final

import simkit
from tests.security.backtracking import ENDLESS, steps
from tests.security.prices import LINEAR

ROOT: Final = Path(simkit.__file__).parent
_CALLS: Final = frozenset(
    {"compile", "match", "search", "fullmatch", "sub", "subn", "findall", "finditer", "split"},
)
_NAMES: Final = "match|search|fullmatch|sub|subn|findall|finditer|split"
FEW: Final = 60
MANY: Final = 600
"""Letters of a text: a price is that of a square if it is with few and with many, and not up to a bound of the pattern."""
_MOST: Final = 6


@dataclass(frozen=True)
class Use:
    """A pattern where it stands, and the methods that are called on it."""

    path: str
    line: int
    pattern: Any
    """The text or the bytes; None where it is made of something else."""
    flags: int
    methods: frozenset[str]


def uses() -> Iterator[Use]:
    """All calls of ``re`` in the source."""
    for file in sorted(ROOT.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if "import re\n" not in text:
            continue
        path = str(file.relative_to(ROOT))
        for node in ast.walk(ast.parse(text)):
            if _is_call(node):
                yield _use(path, text, node)


def _is_call(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in _CALLS
    )


def _use(path: str, text: str, node: Any) -> Use:
    known = {pattern.pattern: pattern for pattern in _compiled(path)}
    literal = _literal(node.args[0])
    if literal is None and node.func.attr == "compile":
        literal = next((each for each in known if _stands_at(each, node, text, path)), None)
    flags = known[literal].flags if literal in known else 0
    called = node.func.attr
    methods = _called_on(_name(node, text), text) if called == "compile" else frozenset({called})
    return Use(path, node.lineno, literal, flags & ~re.UNICODE, methods or frozenset({"match"}))


def _name(node: Any, text: str) -> str:
    """The name of the constant to which a pattern is assigned; empty if there is none."""
    found = re.match(r"(\w+)(?:: Final)? = ", text.splitlines()[node.lineno - 1])
    return found[1] if found else ""


def _called_on(name: str, text: str) -> frozenset[str]:
    return frozenset(re.findall(rf"\b{name}\.({_NAMES})\b", text)) if name else frozenset(_NAMES.split("|"))


def _literal(node: ast.expr) -> Any:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, str | bytes) else None


def _compiled(path: str) -> Iterator[re.Pattern[Any]]:
    module = import_module("simkit." + path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    for value in vars(module).values():
        values = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else (value,)
        yield from (each for each in values if isinstance(each, re.Pattern))


def _stands_at(pattern: Any, node: Any, text: str, path: str) -> bool:
    """True if the constant that a call is assigned to has this pattern."""
    module = import_module("simkit." + path.removesuffix(".py").replace("/", "."))
    value = getattr(module, _name(node, text) or "__name__", None)
    return isinstance(value, re.Pattern) and value.pattern == pattern


def growing(use: Use) -> Any:
    """A text with which the price of a pattern grows faster than the text; None if none of some hundred is one."""
    tree = parser.parse(use.pattern, use.flags)
    for method in sorted(use.methods):
        for text in texts(use.pattern, use.flags):
            if all(_grows(tree, method, text, letters // len(text[1]) + 1) for letters in (FEW, MANY)):
                return text
    return None


def _grows(tree: Any, method: str, text: tuple[str, str, str], count: int) -> bool:
    start, word, end = text
    half, whole = (steps(tree, method, start + word * number + end) for number in (count, 2 * count))
    return whole > LINEAR * half or whole > ENDLESS


def texts(pattern: Any, flags: int) -> Iterator[tuple[str, str, str]]:
    """Beginnings, what is repeated, and ends at which most patterns fail."""
    tree = parser.parse(pattern, flags)
    letters, sample = _letters(tree), _sample(tree)
    words = [*letters, *("".join(pair) for pair in product(letters[:4], repeat=2)), sample, *_pieces(tree)]
    starts = dict.fromkeys(("", sample, sample[: len(sample) // 2]))
    yield from ((start, word, "\x00") for start in starts for word in dict.fromkeys(words) if word)


def _letters(tree: Any) -> list[str]:
    """Some letters that the pattern names."""
    found = dict.fromkeys(_named(tree))
    return [chr(code) for code in found if code < 256][:_MOST] or ["a"]


def _named(tree: Any) -> Iterator[int]:
    for operation, argument in tree:
        if operation in (codes.LITERAL, codes.NOT_LITERAL):
            yield argument if operation is codes.LITERAL else (ord("a") if argument != ord("a") else ord("b"))
        elif operation is codes.IN:
            yield from (_member(argument),)
        elif operation is codes.ANY:
            yield ord("a")
        else:
            for part in _parts(argument):
                yield from _named(part)


def _member(items: Any) -> int:
    """A letter of a class."""
    if items[0][0] is codes.NEGATE:
        return next(code for code in (97, 48, 120, 33, 10) if (codes.LITERAL, code) not in items)
    operation, argument = items[0]
    if operation is codes.CATEGORY:
        return {"SPACE": 32, "DIGIT": 48, "WORD": 97}.get(str(argument).rpartition("_")[2], 97)
    return int(argument[0] if operation is codes.RANGE else argument)


def _parts(argument: Any) -> Iterator[Any]:
    for each in argument if isinstance(argument, tuple | list) else (argument,):
        if isinstance(each, parser.SubPattern):
            yield each
        elif isinstance(each, list | tuple):
            yield from _parts(each)


def _sample(tree: Any) -> str:
    """A text that the pattern takes, where looking around does not matter."""
    out = ""
    for operation, argument in tree:
        if operation is codes.LITERAL:
            out += chr(argument)
        elif operation is codes.IN:
            out += chr(_member(argument))
        elif operation in (codes.ANY, codes.NOT_LITERAL):
            out += "a"
        elif operation in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            out += _sample(argument[2]) * max(argument[0], 1)
        elif operation is codes.SUBPATTERN:
            out += _sample(argument[-1])
        elif operation is codes.ATOMIC_GROUP:
            out += _sample(argument)
        elif operation is codes.BRANCH:
            out += _sample(argument[1][0])
    return out


def _pieces(tree: Any) -> Iterator[str]:
    """Samples of what the pattern repeats."""
    for operation, argument in tree:
        if operation in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            yield _sample(argument[2])
        if operation is not codes.LITERAL:
            for part in _parts(argument):
                yield from _pieces(part)
