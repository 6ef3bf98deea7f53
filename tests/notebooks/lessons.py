"""Lessons of the course run cell by cell in this process, with answers of our choice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

import simkit
from tests.notebooks.execution import cells, fresh_shell, tags
from tools.course import FOLDER, SOLUTION

MALFORMED = {
    "number": "answer = 5",
    "word": "answer = 'x'",
    "list": "answer = ['x']",
    "dictionary": "answer = {'x': 1}",
}
"""Answers of a form that no task asks for, or with nothing that it asks for."""
NEAR_MISSES = Path(__file__).with_name("near_misses")
"""A file per lesson: by exercise, answers that are nearly right, and right ones in another form."""
WITH_SOLUTION = "### SOLUTION"
"""The line of an answer in whose place the solution is run."""


@dataclass(frozen=True)
class NearMiss:
    """An answer that is nearly right, with words of its explanation, or a right one in another form, without."""

    exercise: str
    case: str
    answer: str
    told: tuple[str, ...]


@dataclass(frozen=True)
class Lesson:
    """A notebook with solutions; the one for learners is the same without them."""

    name: str

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.ipynb"

    def cells(self, *, solved: bool = False) -> list[dict[str, Any]]:
        path = FOLDER / "solutions" / f"{self.name}.ipynb" if solved else self.path
        return cells(path)

    def exercises(self) -> list[str]:
        """The names of the exercises, in order."""
        return [cell["metadata"]["nbgrader"]["grade_id"] for cell in self.cells() if "exercise" in tags(cell)]


def near_misses(name: str) -> list[NearMiss]:
    """The near misses of a lesson."""
    found = yaml.safe_load((NEAR_MISSES / f"{name}.yaml").read_text(encoding="utf-8"))
    return [
        NearMiss(exercise, each["case"], each["answer"], tuple(each.get("told", ())))
        for exercise, cases in found.items()
        for each in cases
    ]


def lessons() -> list[str]:
    """The names of all lessons."""
    return sorted(path.stem for path in FOLDER.glob("*.ipynb"))


def told(lesson: Lesson, wrong: Mapping[str, Iterable[str]]) -> Iterator[tuple[str, str, Any]]:
    """Run a lesson; each exercise with its stub, malformed answers, wrong ones and its solution. At last the points.

    Yields
    ------
    tuple
        The name of the exercise, which answer it was (``stub``, ``solution``, a word of ``MALFORMED``, the case of a
        near miss, or the wrong answer itself), and the verdict.
    """
    name, answers, near = "", {}, near_misses(lesson.name)
    with fresh_shell() as shell:
        for cell in lesson.cells(solved=True):
            if cell["cell_type"] != "code":
                continue
            if "exercise" in tags(cell):
                name = cell["metadata"]["nbgrader"]["grade_id"]
                stub = SOLUTION.sub("", cell["source"])
                answers = {
                    "stub": stub,
                    **MALFORMED,
                    **{each: each for each in wrong[name]},
                    **{
                        each.case: each.answer.replace(WITH_SOLUTION, cell["source"])
                        for each in near
                        if each.exercise == name
                    },
                    "solution": cell["source"],
                }
            elif "check" in tags(cell):
                for which, answer in answers.items():
                    with on_forks(shell) if which != "solution" else nullcontext():
                        run(shell, answer)
                        yield name, which, run(shell, cell["source"])
            else:
                result = run(shell, cell["source"])
                if "points" in tags(cell):
                    yield "", "points", result


@contextmanager
def on_forks(shell: Any) -> Iterator[None]:
    """Every cluster of a notebook is a fork of itself for a while, since some answers change it."""
    clusters = {name: each for name, each in shell.user_ns.items() if isinstance(each, simkit.Cluster)}
    shell.user_ns.update({name: each.fork() for name, each in clusters.items()})
    try:
        yield
    finally:
        shell.user_ns.update(clusters)


def run(shell: Any, source: str) -> Any:
    """The value of a cell. Raises what it raises."""
    done = shell.run_cell(source)
    done.raise_error()
    return done.result
