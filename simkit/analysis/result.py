"""The protocol of every answer that is more than a table."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import singledispatch, wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, NotRequired, TypedDict, cast

from simkit.analysis.rendering import PICTURE_FILE, THEME, html_lines, text_lines
from simkit.meta.distribution import install_hint
from simkit.meta.errors import SimkitError
from simkit.meta.visible_text import html_text, visible_lines
from simkit.meta.whole_file import write_whole
from simkit.meta.wrong_names import absent, by_word, explains_wrong_calls, with_explained_calls
from simkit.present.escaping import csv_cell
from simkit.present.readable_table import cell, html_page, is_missing
from simkit.seams.caveats import Caveat
from simkit.seams.snapshot import Sandbox

if TYPE_CHECKING:
    import pandas as pd

GUESSED: Final = by_word({
    "shortest": "[0]; paths are sorted, the shortest first",
    "proof": "prove()",
    "ok": "holds",
    "requests": "to_frame(), which has a row for each request",
    "table df objects": "to_frame()",
    "subject subjects": "to_frame()['subject']",
    "as_dict": "to_dict()",
    "to_yaml": "yaml()",
    "manifest": "manifests()",
    "to_junit": "the command simkit check FILE -o junit",
    "html": "to_html(path)",
    "save": "to_html(path), to_csv(path) or to_excel(path)",
    "critical": "filter(severity='critical')",
    "savefig": "plot().figure.savefig",
    "graph": "to_networkx()",
    "explain": "print() of it, or of one of its rows",
    "to_bloodhound": "simkit.analysis.write_graph(found.to_networkx(), 'paths.json')",
    "to_graphml": "simkit.analysis.write_graph(found.to_networkx(), 'paths.graphml')",
    "breaks": "verify()",
    "filter": "to_frame().query(\"COLUMN == 'VALUE'\")",
})  # fmt: skip
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
    caveats: NotRequired[list[str]]


def _carrying(join: Callable[[Any, Sequence[str]], Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for a form of an answer, to which ``join`` adds the texts of its caveats."""

    def carrying(form: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(form)
        def carried(self: Any, *args: Any, **named: Any) -> Any:
            return join(form(self, *args, **named), [caveat.text for caveat in self.caveats])

        return carried

    return carrying


def _with_attribute(rows: pd.DataFrame, told: Sequence[str]) -> pd.DataFrame:
    if told:
        rows.attrs["caveats"] = tuple(told)
    return rows


def _with_lines(text: str, told: Sequence[str]) -> str:
    return "\n".join([text, *(line for line in told if line not in text)])


def _with_paragraphs(page: str, told: Sequence[str]) -> str:
    return "".join([*(f"<p><b>{text}</b></p>" for text in map(html_text, told) if text not in page), page])


def _with_entry(made: dict[str, Any], told: Sequence[str]) -> dict[str, Any]:
    return {**made, "caveats": list(told)} if told else made


def _themed(form: Callable[..., Any]) -> Callable[..., Any]:
    hints = dict.fromkeys(("theme", "dark", "style"), THEME)
    return with_explained_calls(
        form, {**hints, **dict.fromkeys(("to", "path", "file", "filename", "ax=str"), PICTURE_FILE)}
    )


_FORMS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "plot": _themed,
    **dict.fromkeys(("to_frame", "summary"), _carrying(_with_attribute)),
    "to_dict": _carrying(_with_entry),
    "_repr_html_": _carrying(_with_paragraphs),
    **dict.fromkeys(("__str__", "__repr__"), _carrying(_with_lines)),
}
"""The forms of an answer, each with the way in which it carries caveats."""


class Result(ABC):
    """An answer: a table of it, a short one, and a mapping for JSON.

    A result that has a length is true exactly if it holds something. One that has none is true if its answer is yes.
    """

    __slots__ = ()
    caveats: ClassVar[tuple[Caveat, ...]] = ()
    """The limits of the answer, such as access that is granted outside of the cluster."""
    _guessed: ClassVar[Mapping[str, str]] = GUESSED

    def __init_subclass__(cls, **named: Any) -> None:
        """Let every form of the answer carry its caveats, and every method tell the right arguments."""
        super().__init_subclass__(**named)
        for name, form in _FORMS.items():
            if name in vars(cls) and not getattr(vars(cls)[name], "__isabstractmethod__", False):
                setattr(cls, name, form(vars(cls)[name]))
        explains_wrong_calls(cls)

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """The answer as a table."""

    def summary(self) -> pd.DataFrame:
        """The answer in a few rows: what, count."""
        from simkit.analysis.readable_frame import ReadableFrame

        return ReadableFrame({"what": [type(self).__name__], "count": [len(self.to_frame())]})

    def to_dict(self) -> ResultDict:
        """The answer for JSON: ``result`` (its type), ``summary`` and ``rows``, the tables as lists of mappings."""
        made = {"result": type(self).__name__, "summary": records(self.summary()), "rows": records(self.to_frame())}
        return cast("ResultDict", _with_entry(made, [caveat.text for caveat in self.caveats]))

    def to_html(self, path: str | Path) -> None:
        """Write the answer as notebooks show it, as a page of its own, with all rows of its tables.

        Parameters
        ----------
        path
            The file. ``simkit audit --html`` writes a longer report, with causes, plan and proofs.
        """
        import pandas as pd

        with pd.option_context("display.max_rows", None):
            write_whole(Path(path), html_page(type(self).__name__, f"{self._page()}\n"))

    def _page(self) -> str:
        """What ``to_html`` writes; results that show less in notebooks have their own."""
        return self._repr_html_()

    def to_csv(self, path: str | Path) -> None:
        """Write the table of the answer as CSV, with lists as texts and no cell that a spreadsheet would execute.

        Parameters
        ----------
        path
            The file.
        """
        write_whole(Path(path), self._plain().to_csv(index=False))

    def to_excel(self, path: str | Path) -> None:
        """Write the table of the answer as a file for Excel, with lists as texts and no cell that would be executed.

        Parameters
        ----------
        path
            The file: ``findings.xlsx``.

        Raises
        ------
        SimkitError
            Where openpyxl is not installed (extra ``notebook``).
        """
        try:
            rows = self._plain().map(lambda value: visible_lines(value) if isinstance(value, str) else value)
            rows.to_excel(path, index=False)
        except ImportError as missing:
            raise SimkitError(f"writing Excel files needs openpyxl: {install_hint('notebook')}") from missing

    def _plain(self) -> pd.DataFrame:
        """The table with a text or a number in each cell, and a column for the limits where there are any."""
        import pandas as pd

        rows = self.to_frame()
        limits = {"caveats": "; ".join(caveat.text for caveat in self.caveats)} if self.caveats else {}
        listed = [{**row, **limits} for row in rows.to_dict("records")]
        if limits and not listed:
            listed = [dict(limits)]
        columns = [*rows.columns, *limits]
        return pd.DataFrame([[_plain_cell(row.get(name)) for name in columns] for row in listed], columns=columns)

    if not TYPE_CHECKING:  # a type checker knows all attributes

        def __getattr__(self, name: str) -> Any:
            import pandas as pd

            table = {} if name.startswith("_") or not hasattr(pd.DataFrame, name) else {name: f"to_frame().{name}"}
            raise absent(
                type(self).__name__, name, () if name.startswith("_") else dir(self), {**table, **self._guessed}
            )

    def _repr_html_(self) -> str:
        """The short answer and the table, once if they are the same; results with a better form have their own."""
        from simkit.analysis.readable_frame import ReadableFrame

        short, whole = self.summary(), self.to_frame()
        shown = [whole] if short.equals(whole) else [short, whole]
        told = "".join(f"<p><b>{html_text(caveat.text)}</b></p>" for caveat in self.caveats)
        return told + "".join(ReadableFrame(rows)._repr_html_() for rows in shown)


class InLines(Result):
    """An answer that explains itself in a headline and details. Dataclasses of this kind leave their ``repr`` to it."""

    __slots__ = ()

    @abstractmethod
    def lines(self) -> Iterator[str]:
        """The answer, line by line."""

    def __str__(self) -> str:
        return text_lines(self.lines())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html_lines(self.lines())


class Evidence(Result):
    """The result of executing a claim on a fork. In a condition it is true if the claim holds."""

    __slots__ = ()

    @property
    def holds(self) -> bool:
        """True if the claim holds."""
        return bool(self)

    @abstractmethod
    def __bool__(self) -> bool: ...


PROVERS: Final = ("simkit.analysis.admission.proof", "simkit.analysis.escalation.prove.proof")
"""The modules that register a prover, by name: answers do not import what executes them."""


@singledispatch
def proven(claim: Result, sandbox: Sandbox | None, **options: Any) -> Any:
    """The evidence of a claim; provers register themselves here by the type of claim."""
    raise SimkitError(f"{type(claim).__name__} has nothing to prove")


def prove_claim(claim: Result, sandbox: Sandbox | None, **options: Any) -> Any:
    """The evidence of a claim, executed on forks of a sandbox; an empty claim needs none."""
    for module in PROVERS:
        import_module(module)
    return proven(claim, sandbox, **options)


def _plain_cell(value: Any) -> str | int | float:
    if isinstance(value, int | float) and not isinstance(value, bool) and not is_missing(value):
        return value
    return csv_cell(cell(value))


def records(rows: pd.DataFrame) -> list[Row]:
    """A table for JSON, row by row."""
    found: list[Row] = json.loads(rows.to_json(orient="records", date_format="iso"))
    return found
