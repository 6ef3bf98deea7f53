"""Shapes of answers to exercises, and what a learner is told who gives another one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, Literal

Shape = Literal["dictionary", "list", "pair", "text", "function", "manifest", "words"]
Complaint = tuple[str, tuple[str, ...]]
"""The complaint about an answer, with details."""
SHOWN: Final = 5
"""Keys that are no keys of a task and are listed."""


def _is_list(answer: object) -> bool:
    return isinstance(answer, Sequence) and not isinstance(answer, str | bytes)


def _is_pair(answer: object) -> bool:
    return isinstance(answer, Sequence) and not isinstance(answer, str | bytes) and len(answer) == 2


def _is_manifest(answer: object) -> bool:
    """True if an answer can be manifests. A single word would be taken for the path of a file."""
    if isinstance(answer, str):
        return "\n" in answer or ":" in answer or "{" in answer
    if _is_list(answer) and isinstance(answer, Sequence):
        return all(isinstance(entry, Mapping) for entry in answer)
    return isinstance(answer, Mapping) or callable(answer)


def _is_words(answer: object) -> bool:
    """True for a word, or several: numbers are taken as their texts."""
    return isinstance(answer, str | int | float) or (isinstance(answer, Collection) and not hasattr(answer, "columns"))


SHAPES: Final[Mapping[str, tuple[Callable[[object], bool], str]]] = {
    "dictionary": (lambda answer: isinstance(answer, Mapping), "a dictionary: {...}"),
    "list": (_is_list, "a list: [...]"),
    "pair": (_is_pair, "a pair: (first, second)"),
    "text": (lambda answer: isinstance(answer, str), 'a text: "..."'),
    "function": (callable, "a function: def answer(...)"),
    "manifest": (_is_manifest, "a manifest, with lines such as kind: Role, or a function that changes the cluster"),
    "words": (_is_words, 'a word, or a set of words: {"...", "..."}'),
}


def is_empty(answer: Any) -> bool:
    """True for nothing at all, for the dots of a stub, and for texts and collections with nothing in them."""
    if answer is None or answer is ...:
        return True
    return not answer.strip() if isinstance(answer, str) else isinstance(answer, Collection) and len(answer) == 0


def misfit(answer: Any, shape: Shape | None) -> Complaint | None:
    """The complaint about the shape of an answer, with what was given; None if it is right.

    Examples
    --------
    >>> misfit(["get"], "dictionary")
    ('the answer must be a dictionary: {...}', ("it is of the type list: ['get']",))
    >>> misfit(("json", [], "ann"), "pair")
    ('the answer must be a pair: (first, second)', ("it has 3 parts: ('json', [], 'ann')",))
    >>> misfit({"verbs": ["get"]}, "dictionary")
    >>> misfit(lambda: None, "function")
    ('the function must take one argument', ('it is called with one thing, which the task names: def answer(...)',))
    """
    if shape is not None and not SHAPES[shape][0](answer):
        return f"the answer must be {SHAPES[shape][1]}", (_found(answer, shape),)
    if shape == "function" or (shape == "manifest" and callable(answer)):
        return _cannot_be_called(answer)
    return None


def _found(answer: Any, shape: Shape) -> str:
    """The form that an answer has instead of its shape."""
    if shape == "pair" and _is_list(answer):
        return f"it has {len(answer)} parts: {shown(answer)}"
    return f"it is of the type {type(answer).__name__}: {shown(answer)}"


def shown(value: object) -> str:
    """A value in one line, cut where it is long."""
    return f"{' '.join(repr(value).split()):.80}"


def _cannot_be_called(answer: Callable[..., Any]) -> Complaint | None:
    """The complaint about a function whose lines would not run when it is called with one argument."""
    if inspect.iscoroutinefunction(answer):
        return "the function must not be asynchronous", ("nobody waits for it: write def without async",)
    if inspect.isgeneratorfunction(answer):
        return "the function must not have a yield", ("its lines would not run: leave yield out",)
    try:
        inspect.signature(answer).bind(None)
    except ValueError:  # what is written in C may have no signature; calling it tells
        return None
    except TypeError:
        return "the function must take one argument", (
            "it is called with one thing, which the task names: def answer(...)",
        )
    return None


def unknown_keys(answer: Any, keys: Collection[str]) -> Complaint | None:
    """The complaint about keys of a dictionary that a task does not ask for, with the ones that they are like.

    Examples
    --------
    >>> unknown_keys({"verb": ["get"]}, ["apiGroups", "resources", "verbs"])
    ("no such key: 'verb' (did you mean 'verbs'?)", ("the keys are the texts 'apiGroups', 'resources', 'verbs'",))
    >>> unknown_keys({"verbs": ["get"]}, ["verbs"])
    """
    unknown = [key for key in answer if key not in keys] if keys and isinstance(answer, Mapping) else []
    if not unknown:
        return None
    shown = ", ".join(_with_meant(key, keys) for key in unknown[:SHOWN])
    more = f" and {len(unknown) - SHOWN} more" if len(unknown) > SHOWN else ""
    return f"no such key: {shown}{more}", (f"the keys are the texts {', '.join(map(repr, keys))}",)


def _with_meant(key: object, keys: Collection[str]) -> str:
    near = get_close_matches(key, keys, n=1) if isinstance(key, str) else []
    return f"{key!r}" + (f" (did you mean {near[0]!r}?)" if near else "")
