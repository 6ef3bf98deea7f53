"""The protocol of every answer that is more than a table."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypedDict

import pandas as pd

from simkit.analysis.readable_frame import ReadableFrame
from simkit.meta.wrong_names import absent

GUESSED: Final[Mapping[str, str]] = {
    "shortest": "[0]; paths are sorted, the shortest first",
    "proof": "prove()",
    "ok": "holds",
    "requests": "to_frame(), which has a row for each request",
    "table": "to_frame()",
    "df": "to_frame()",
    "as_dict": "to_dict()",
    "to_yaml": "yaml()",
    "manifest": "manifests()",
    "to_junit": "the command simkit check FILE -o junit",
    "savefig": "plot().figure.savefig",
    "objects": "to_frame()",
}
"""Names that people guess, and what to write instead."""

JsonValue = dict[str, "JsonValue"] | list["JsonValue"] | str | int | float | bool | None
"""A value that JSON can hold."""
Row = dict[str, JsonValue]
"""A row of a table for JSON: its values by column."""


class ResultDict(TypedDict):
    """An answer for JSON: the type of the answer, and its tables as lists of rows."""

    result: str
    summary: list[Row]
    rows: list[Row]


class Result(ABC):
    """An answer: a table of it, a short one, and a mapping for JSON.

    A result that has a length is true exactly if it holds something. One that has none is true if its answer is yes.
    """

    __slots__ = ()

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """The answer as a table."""

    def summary(self) -> pd.DataFrame:
        """The answer in a few rows: what, count."""
        return ReadableFrame({"what": [type(self).__name__], "count": [len(self.to_frame())]})

    def to_dict(self) -> ResultDict:
        """The answer for JSON: ``result`` (its type), ``summary`` and ``rows``, the tables as lists of mappings."""
        return {"result": type(self).__name__, "summary": records(self.summary()), "rows": records(self.to_frame())}

    if not TYPE_CHECKING:  # a type checker knows all attributes

        def __getattr__(self, name: str) -> Any:
            table = {} if name.startswith("_") or not hasattr(pd.DataFrame, name) else {name: f"to_frame().{name}"}
            raise absent(type(self).__name__, name, () if name.startswith("_") else dir(self), {**GUESSED, **table})

    def _repr_html_(self) -> str:
        """The short answer and the table, once if they are the same; results with a better form have their own."""
        short, whole = self.summary(), self.to_frame()
        shown = [whole] if short.equals(whole) else [short, whole]
        return "".join(ReadableFrame(rows)._repr_html_() for rows in shown)


class Evidence(Result):
    """The result of executing a claim on a fork. In a condition it is true if the claim holds."""

    __slots__ = ()

    @property
    def holds(self) -> bool:
        """True if the claim holds."""
        return bool(self)

    @abstractmethod
    def __bool__(self) -> bool: ...


def records(rows: pd.DataFrame) -> list[Row]:
    """A table for JSON, row by row."""
    found: list[Row] = json.loads(rows.to_json(orient="records", date_format="iso"))
    return found
