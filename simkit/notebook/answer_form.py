"""Answers to exercises in a plain form: what says the same in another type is as good."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Any, Final

import numpy as np
import pandas as pd

from simkit.notebook.answer_shape import Shape

MOST: Final = 10_000
"""The entries of an iterator that are read, since it need not come to an end."""


def in_plain_form(answer: Any, shape: Shape | None) -> Any:
    """The answer in the type that its shape has most often; one that has no such form as it is.

    An iterator becomes a list, a series of pandas a list or a dictionary, a list of texts one manifest, bytes a text.

    Raises
    ------
    ValueError
        For an iterator of more than 10,000 entries.

    Examples
    --------
    >>> in_plain_form((verb for verb in ("get", "list")), "list")
    ['get', 'list']
    >>> in_plain_form(b"kind: Role", "manifest")
    'kind: Role'
    """
    if isinstance(answer, bytes):
        return answer.decode()
    if isinstance(answer, Iterator):
        answer = _entries(answer)
    convert = _FORMS.get(shape) if shape else None
    return answer if convert is None else convert(answer)


def plain_value(value: Any) -> Any:
    """The value of a NumPy scalar, and any other value as it is."""
    return value.item() if isinstance(value, np.generic) else value


def _entries(iterator: Iterator[Any]) -> list[Any]:
    found = [entry for entry, _ in zip(iterator, range(MOST + 1))]
    if len(found) > MOST:
        raise ValueError(f"the answer has more than {MOST:,} entries")
    return found


def _dictionary(answer: Any) -> Any:
    return answer.to_dict() if isinstance(answer, pd.Series) else answer


def _list(answer: Any) -> Any:
    is_list_like = isinstance(answer, Iterable) and not isinstance(answer, str | Mapping | pd.DataFrame)
    return list(answer) if is_list_like else answer


def _manifest(answer: Any) -> Any:
    """The documents of a list of texts as one text."""
    if isinstance(answer, list | tuple | Set) and answer and all(isinstance(each, str) for each in answer):
        documents = [each for each in answer if each.strip()]
        return "\n---\n".join(documents) if all("\n" in each or "{" in each for each in documents) else answer
    return answer


_FORMS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "dictionary": _dictionary,
    "list": _list,
    "manifest": _manifest,
}
