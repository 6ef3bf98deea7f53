"""Recorded conversations with a few changes at random: another value, option, header, user or order of steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final

from tests.conformance.conversation import Case, Step
from tests.conformance.oddities import GONE, LONG, Path, with_value
from tests.conformance.random_steps import ACCEPTS, LISTS, WRITES

_TEXTS: Final = (
    "",
    "Not_Valid!",
    "other",
    LONG,
    "1.2.3.4",
    "a/b",
    "-5",
    "..",
    "*",
    "ä",
    "true",
    "10",
    "a.b.example.com",
)
_NUMBERS: Final = (-1, 0, 1, 2, 70_000, 3_000_000_000, 1.5, 2**63)
_OTHERS: Final[Sequence[Any]] = (None, GONE, [], {}, "", 0, True, [None], {"": ""}, GONE, GONE)
_CONTENT_TYPES: Final = (
    "application/json",
    "application/json; charset=utf-8",
    "application/yaml",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/json-patch+json",
    "application/apply-patch+yaml",
    "text/plain",
)
_USERS: Final = ("admin", "alice", "anonymous")


class RandomRecorded:
    """The steps of a recorded conversation with changes.

    Parameters
    ----------
    seed
        The same seed gives the same steps.
    """

    def __init__(self, case: Case, seed: str) -> None:
        self._case, self._random = case, Random(seed)

    def steps(self) -> Iterator[Step]:
        """The requests in order."""
        made = [{name: part for name, part in step.items() if name != "expect"} for step in self._case.steps]
        for _ in range(self._random.choice((1, 1, 1, 1, 2, 3))):
            made = self._changed(made)
        yield from made

    def _changed(self, steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
        number = self._random.randrange(len(steps))
        if "sleep" in steps[number]:
            return steps
        if self._random.random() < 0.1:
            return self._reordered(steps, number)
        changes: Sequence[Callable[[Step], Step]] = (
            *(3 * [self._other_value] if isinstance(steps[number].get("body"), Mapping | list) else []),
            self._other_options,
            self._other_headers,
            self._other_user,
        )
        changed = dict(self._random.choice(changes)(steps[number]))
        return [*steps[:number], changed, *steps[number + 1 :]]

    def _reordered(self, steps: list[dict[str, Any]], number: int) -> list[dict[str, Any]]:
        """The steps without one of them, or with one twice."""
        if self._random.random() < 0.5:
            return [*steps[:number], *steps[number + 1 :]] if len(steps) > 1 else steps
        return [*steps[: number + 1], *steps[number:]]

    def _other_value(self, step: Step) -> Step:
        path, value = self._random.choice([*_places(step["body"])] or [((), None)])
        if not path or (path[-1:] in (("name",), ("namespace",)) and len(path) == 2):
            return step
        return {**step, "body": with_value(step["body"], path, self._instead_of(value))}

    def _instead_of(self, value: Any) -> Any:
        if self._random.random() < 0.3:
            return self._random.choice(_OTHERS)
        if isinstance(value, bool):
            return not value
        if isinstance(value, str):
            return self._random.choice((*_TEXTS, value + "x", value.upper(), value[1:]))
        if isinstance(value, int | float):
            return self._random.choice((*_NUMBERS, -value, value + 1, str(value)))
        if isinstance(value, list):
            return self._random.choice(([], [*value, *value[:1]], value[::-1], value[1:], {}))
        return self._random.choice(({}, {**(value or {}), "other": "x"}, [value]))

    def _other_options(self, step: Step) -> Step:
        """The step with other options; those of deletions stay, since they say what is deleted."""
        if step["method"] == "DELETE":
            return step
        path, _, options = str(step["path"]).partition("?")
        chosen = self._random.choice(LISTS if step["method"] == "GET" else WRITES)
        if self._random.random() < 0.3 or "watch" in options:
            return {**step, "path": f"{path}?{options}&{chosen[1:]}" if options and chosen else f"{path}{chosen}"}
        return {**step, "path": f"{path}{chosen}"}

    def _other_headers(self, step: Step) -> Step:
        name, values = self._random.choice((("Accept", ACCEPTS), ("Content-Type", _CONTENT_TYPES)))
        return {**step, "headers": {**(step.get("headers") or {}), name: self._random.choice(values)}}

    def _other_user(self, step: Step) -> Step:
        return {**step, "as": self._random.choice(_USERS)}


def _places(value: Any, at: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The places in a body, each with its value."""
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*at, key), item
        yield from _places(item, (*at, key))
