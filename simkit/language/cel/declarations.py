"""Declarations of functions and their overloads, by signatures such as ``string.charAt(int) string``.

cel-go 0.17, common/decls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from simkit.language.cel.conversions import signature
from simkit.language.cel.errors import EvaluationError, no_overload
from simkit.language.cel.types import Type, parameters_in, parsed, parsed_list
from simkit.language.cel.values import kind_of

_NAMESPACES: Final = frozenset({"sets", "ip", "optional", "strings", "lists", "format", "jsonpatch"})
_SIGNATURE = re.compile(r"(?:(?P<target>.+)\.)?(?P<name>\w+)\((?P<arguments>[^ ]*(?:, [^ ]*)*)\) (?P<result>\S+)")


@dataclass(frozen=True, slots=True)
class Overload:
    """One way to call a function. A member overload's first argument is its target."""

    id: str
    function: str
    member: bool
    arguments: tuple[Type, ...]
    result: Type
    run: Callable[..., Any]
    parameters: frozenset[str] = frozenset()

    def accepts(self, kinds: Sequence[str]) -> bool:
        """True if values of these kinds fit the arguments."""
        return len(kinds) == len(self.arguments) and all(map(_fits, self.arguments, kinds))


def _fits(wanted: Type, kind: str) -> bool:
    if wanted.kind in ("dyn", "param"):
        return True
    return kind == (wanted.name if wanted.kind == "opaque" else wanted.kind)


def declared(id: str, signature: str, run: Callable[..., Any]) -> Overload:
    """The overload that a signature describes; ``sets.``, ``optional.`` and their like belong to the name.

    Examples
    --------
    >>> declared("string_char_at_int", "string.charAt(int) string", str).arguments[1].name
    'int'
    """
    found = _SIGNATURE.fullmatch(signature)
    assert found is not None, signature
    target, name = found["target"], found["name"]
    arguments = parsed_list(found["arguments"])
    if target in _NAMESPACES:
        return _overload(id, f"{target}.{name}", False, arguments, parsed(found["result"]), run)
    if target is not None:
        return _overload(id, name, True, (parsed(target), *arguments), parsed(found["result"]), run)
    return _overload(id, name, False, arguments, parsed(found["result"]), run)


def takes(work: Callable[..., Any]) -> Callable[..., bool]:
    """The predicate of the arguments for which a conversion does not fail."""

    def test(*arguments: Any) -> bool:
        try:
            work(*arguments)
        except EvaluationError:
            return False
        return True

    return test


def operator(id: str, function: str, arguments: str, result: str, run: Callable[..., Any]) -> Overload:
    """The overload of an operator, whose name no signature can spell."""
    return _overload(id, function, False, parsed_list(arguments), parsed(result), run)


def _overload(
    id: str, function: str, member: bool, arguments: tuple[Type, ...], result: Type, run: Callable[..., Any]
) -> Overload:
    names = frozenset().union(parameters_in(result), *map(parameters_in, arguments))
    return Overload(id, function, member, arguments, result, run, names)


@dataclass(frozen=True, slots=True)
class Library:
    """Overloads that came with one compatibility version, and the version that removed them, if any."""

    name: str
    since: tuple[int, int]
    overloads: tuple[Overload, ...]
    until: tuple[int, int] | None = None
    types: tuple[Type, ...] = ()
    """Types that expressions may name: ``type(x) == net.IP``."""

    def serves(self, version: tuple[int, int]) -> bool:
        return self.since <= version and (self.until is None or version < self.until)


_UNSIGNED: Final = frozenset({"startsWith", "endsWith", "contains", "matches", "find", "size"})
"""Functions that cel-go finds by one argument alone; their errors name no types."""


@dataclass(slots=True)
class Function:
    """All overloads of one name, in the order in which the checker tries them."""

    name: str
    overloads: list[Overload]
    _chosen: dict[tuple[Any, ...], Callable[..., Any]] = field(default_factory=dict)

    def dispatch(self, member: bool, *values: Any) -> Any:
        """Call the overload that fits the values; ``no such overload`` where none does."""
        classes = (member, *map(type, values))
        run = self._chosen.get(classes)
        if run is None:
            kinds = [kind_of(value) for value in values]
            run = next((each.run for each in self.overloads if each.member == member and each.accepts(kinds)), None)
            if run is None:
                raise no_overload("" if self.name in _UNSIGNED else signature(self.name, values))
            self._chosen[classes] = run
        return run(*values)


def functions_of(libraries: Iterable[Library], version: tuple[int, int]) -> Mapping[str, Function]:
    """The functions of a compatibility version, by name."""
    found: dict[str, Function] = {}
    for library in libraries:
        if library.serves(version):
            for overload in library.overloads:
                found.setdefault(overload.function, Function(overload.function, [])).overloads.append(overload)
    return found
