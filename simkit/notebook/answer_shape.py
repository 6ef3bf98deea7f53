"""Shapes of answers to exercises, and what a learner is told who gives another one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

Shape = Literal["dictionary", "list", "pair", "text", "function", "manifest"]


def _is_list(answer: object) -> bool:
    return isinstance(answer, Sequence) and not isinstance(answer, str)


def _is_pair(answer: object) -> bool:
    return isinstance(answer, Sequence) and not isinstance(answer, str) and len(answer) == 2


def _is_manifest(answer: object) -> bool:
    """True if an answer can be manifests. A single word would be taken for the path of a file."""
    return not isinstance(answer, str) or "\n" in answer or ":" in answer or "{" in answer


SHAPES: Final[Mapping[str, tuple[Callable[[object], bool], str]]] = {
    "dictionary": (lambda answer: isinstance(answer, Mapping), "a dictionary: {...}"),
    "list": (_is_list, "a list: [...]"),
    "pair": (_is_pair, "a pair: (first, second)"),
    "text": (lambda answer: isinstance(answer, str), 'a text: "..."'),
    "function": (callable, "a function: def answer(...)"),
    "manifest": (_is_manifest, "a manifest, with lines such as kind: Role, or a function that changes the cluster"),
}


def misfit(answer: Any, shape: Shape | None) -> tuple[str, tuple[str, ...]] | None:
    """The complaint about the shape of an answer, with what was given; None if it is right.

    Examples
    --------
    >>> misfit(["get"], "dictionary")
    ('the answer must be a dictionary: {...}', ("it is of the type list: ['get']",))
    >>> misfit({"verbs": ["get"]}, "dictionary")
    """
    if shape is None or SHAPES[shape][0](answer):
        return None
    return f"the answer must be {SHAPES[shape][1]}", (f"it is of the type {type(answer).__name__}: {answer!r:.80}",)
