"""The lessons of the course, made from their sources in Markdown: ``python -m tools.course``.

A source is a notebook in jupytext's Markdown. Each lesson becomes two notebooks: the one for learners, without
solutions, and the one in ``solutions``, which is also a source for nbgrader. Code cells say in their fence what they
are:

- ``exercise="name"``: the learner's answer, a stub followed by the solution between ``### BEGIN SOLUTION`` and
  ``### END SOLUTION``.
- ``check="name"``: what checks the answer. Learners cannot edit it, and its code is folded.
- ``points=3``: the graded cell, whose result is the number of points.

A Markdown cell that begins with *Your answer* is the learner's, and is graded by the teacher.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).resolve().parents[1] / "notebooks/course"
SOLUTION: Final = re.compile(r"\n?^### BEGIN SOLUTION\n.*?^### END SOLUTION$", re.MULTILINE | re.DOTALL)
KERNEL: Final = {"display_name": "Python 3", "language": "python", "name": "python3"}


def sources() -> list[Path]:
    """The sources of all lessons, in their order."""
    return sorted((FOLDER / "source").glob("*.md"))


def compiled(source: Path) -> tuple[str, str]:
    """The notebook for learners and the one with solutions, as text."""
    return _written(source, solved=False), _written(source, solved=True)


def _written(source: Path, *, solved: bool) -> str:
    import jupytext  # both take long to load, and tests of the lessons need the rest of this module
    import nbformat

    notebook: Any = jupytext.reads(source.read_text(), fmt="md")
    for number, cell in enumerate(notebook.cells):
        cell.id = f"c{number:02}"
        cell.metadata = dict(_metadata(cell))
        if not solved and cell.cell_type == "code":
            cell.source = SOLUTION.sub("", cell.source)
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    nbformat.validate(notebook)
    return nbformat.writes(notebook) + "\n"  # type: ignore[no-untyped-call, no-any-return]


def _metadata(cell: Any) -> Iterator[tuple[str, Any]]:
    """The metadata of a cell: tags, and what nbgrader reads."""
    said = cell.metadata
    if "tags" in said:
        yield "tags", said["tags"]
        if "hide-input" in said["tags"]:
            yield "jupyter", {"source_hidden": True}
    if "exercise" in said:
        yield "tags", ["exercise"]
        yield "nbgrader", _nbgrader(said["exercise"], solution=True)
    elif "check" in said:
        yield "tags", ["check", "hide-input"]
        yield "jupyter", {"source_hidden": True}
        yield "editable", False
        yield "deletable", False
        yield "nbgrader", _nbgrader(f"check-{said['check']}", locked=True)
    elif "points" in said:
        yield "tags", ["points"]
        yield "nbgrader", _nbgrader("points", locked=True, points=said["points"])
    elif cell.cell_type == "markdown" and cell.source.startswith("*Your answer"):
        yield "nbgrader", _nbgrader("question", solution=True, points=1)


def _nbgrader(name: str, *, solution: bool = False, locked: bool = False, points: int | None = None) -> dict[str, Any]:
    """A cell for nbgrader, in the third version of its metadata."""
    graded = {} if points is None else {"points": points}
    kind = {"grade": points is not None, "solution": solution, "locked": locked, "task": False}
    return {"grade_id": name, "schema_version": 3, **kind, **graded}


def write() -> list[Path]:
    """Write all notebooks, and give back where they are."""
    made = []
    for source in sources():
        targets = (FOLDER / f"{source.stem}.ipynb", FOLDER / "solutions" / f"{source.stem}.ipynb")
        for target, text in zip(targets, compiled(source), strict=True):
            target.parent.mkdir(exist_ok=True)
            target.write_text(text)
            made.append(target)
    return made


if __name__ == "__main__":
    sys.stdout.write("\n".join(map(str, write())) + "\n")
