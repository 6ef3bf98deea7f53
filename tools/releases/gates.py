"""The lives of feature gates, from the table that people keep, checked against what is known of two releases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

STATES: Final[Mapping[str, tuple[str, bool, bool]]] = {
    "A": ("ALPHA", False, False),
    "T": ("ALPHA", True, False),
    "B": ("BETA", True, False),
    "b": ("BETA", False, False),
    "G": ("GA", True, False),
    "L": ("GA", True, True),
    "g": ("GA", False, True),
    "D": ("DEPRECATED", True, False),
    "d": ("DEPRECATED", False, False),
    "K": ("DEPRECATED", True, True),
    "k": ("DEPRECATED", False, True),
}
"""What a letter of the table stands for: stage, default, whether the value is locked."""
Life = list[list[Any]]


def read(text: str) -> dict[str, Life]:
    """By gate: ``[release, stage, default, locked]`` of every change; an end is ``[release]`` alone."""
    lives: dict[str, Life] = {}
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        name, *changes = line.split()
        assert name not in lives, f"{name} stands twice in the table"
        lives[name] = [_change(change) for change in changes]
        releases = [int(change[1:]) for change in changes]
        assert releases == sorted(set(releases)), f"the changes of {name} are out of order"
    return dict(sorted(lives.items()))


def _change(text: str) -> list[Any]:
    release = f"1.{int(text[1:])}"
    return [release] if text[0] == "x" else [release, *STATES[text[0]]]


def at(lives: Mapping[str, Life], minor: int) -> dict[str, list[Any]]:
    """Stage, default and lock of the gates that a release knows."""
    found = {}
    for name, life in lives.items():
        past = [change for change in life if int(change[0].partition(".")[2]) <= minor]
        if past and len(past[-1]) > 1:
            found[name] = past[-1][1:]
    return found


def check(lives: Mapping[str, Life], minor: int, known: Mapping[str, list[Any]]) -> None:
    """Stop where the table says something else of a release than is known of it."""
    told = {name: state for name, state in at(lives, minor).items() if not name.startswith("All")}
    for name in sorted(told.keys() | known.keys()):
        here, there = told.get(name), known.get(name)
        assert here == there or name.startswith("All"), f"{name} at 1.{minor}: {here} in the table, {there} known"
