"""The lessons of the course run; solutions are right, and wrong answers are told what is wrong with them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from simkit.notebook import Verdict
from tests.notebooks.execution import tags
from tests.notebooks.lessons import Lesson, lessons, near_misses, told
from tests.notebooks.more_wrong_answers import MORE_WRONG
from tests.notebooks.wrong_answers import WRONG
from tools.course import compiled, sources

pytestmark = pytest.mark.slow

HEADS = ("**Time**: ", "**You need**: ", "**You will have learned**", "**The story.** ")
END = ("## A question to think about", "*Your answer:*", "## What to read in the specification")


def test_there_are_thirteen_lessons() -> None:
    """In the order of their numbers; each has a source, and a notebook with solutions."""
    assert [name[:2] for name in lessons()] == [f"{number:02}" for number in range(1, 14)]
    assert [source.stem for source in sources()] == lessons() == sorted(WRONG) == sorted(MORE_WRONG)


@pytest.mark.parametrize("source", sources(), ids=lambda path: path.stem)
def test_the_notebooks_are_what_the_sources_say(source: Any) -> None:
    """``python -m tools.course`` was run."""
    lesson = Lesson(source.stem)
    for text, solved in zip(compiled(source), (False, True)):
        made = [{**cell, "source": "".join(cell["source"])} for cell in json.loads(text)["cells"]]
        assert made == lesson.cells(solved=solved)


@pytest.mark.parametrize("name", lessons())
def test_a_lesson_has_all_its_parts(name: str) -> None:
    """Head, story, exercises, points, a question, what to read; no outputs, no solutions, and cells for nbgrader."""
    lesson = Lesson(name)
    cells = lesson.cells()
    text = "\n".join(cell["source"] for cell in cells if cell["cell_type"] == "markdown")
    assert [part for part in (*HEADS, *END) if part not in text] == []
    minutes = re.search(r"\*\*Time\*\*: (\d+) minutes", text)
    assert minutes
    assert 30 <= int(minutes[1]) <= 45
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(cells) < 40
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code)
    assert not any("SOLUTION" in cell["source"] for cell in cells)
    assert len(lesson.exercises()) >= 3
    graded = [cell["metadata"]["nbgrader"] for cell in cells if "nbgrader" in cell["metadata"]]
    assert len({each["grade_id"] for each in graded}) == len(graded)
    (points,) = [cell["metadata"]["nbgrader"] for cell in cells if "points" in tags(cell)]
    assert (points["points"], points["grade"], points["locked"]) == (len(lesson.exercises()), True, True)
    assert all(each["locked"] is not each["solution"] for each in graded)


@pytest.mark.parametrize("solved", [False, True], ids=["learners", "solutions"])
@pytest.mark.parametrize("name", lessons())
def test_nbgrader_takes_the_cells(name: str, solved: bool) -> None:
    """The metadata follow the third version of nbgrader's schema and the rules that its validator adds."""
    for cell in Lesson(name).cells(solved=solved):
        if "nbgrader" not in cell["metadata"]:
            continue
        meta = cell["metadata"]["nbgrader"]
        assert set(meta) - {"points"} == {"schema_version", "grade_id", "grade", "solution", "locked", "task"}
        assert meta["schema_version"] == 3
        assert re.fullmatch(r"[a-zA-Z0-9_-]+", meta["grade_id"])
        assert all(isinstance(meta[flag], bool) for flag in ("grade", "solution", "locked", "task"))
        assert meta["grade"] is ("points" in meta)
        assert meta.get("points", 0) >= 0
        if cell["cell_type"] == "markdown":
            assert meta["grade"] is meta["solution"], meta["grade_id"]


@pytest.mark.parametrize("name", lessons())
def test_near_misses_are_cases_of_their_own(name: str) -> None:
    """Each names an exercise of the lesson, and its case stands once in that exercise."""
    cases = [(each.exercise, each.case) for each in near_misses(name)]
    assert len(set(cases)) == len(cases)
    assert {exercise for exercise, _ in cases} <= set(Lesson(name).exercises())


def _wrong_answers(name: str) -> dict[str, dict[str, list[str]]]:
    """The wrong answers of a lesson by exercise, each with words of its explanation."""
    found = {exercise: {answer: words} for exercise, (answer, words) in WRONG[name].items()}
    for exercise, answer, words in MORE_WRONG[name]:
        found[exercise][answer] = words
    return found


@pytest.mark.parametrize("name", lessons())
def test_a_lesson_runs_and_judges(name: str) -> None:
    """Stubs and wrong answers are explained, and raise nothing; solutions are right and give all points.

    So are right answers of another form than the solution.
    """
    wrong = _wrong_answers(name)
    near = {(each.exercise, each.case): each.told for each in near_misses(name)}
    for exercise, which, result in told(Lesson(name), wrong):
        if which == "points":
            assert result == len(wrong)
            continue
        assert isinstance(result, Verdict)
        right = which == "solution" or near.get((exercise, which)) == ()
        assert bool(result) is right, (exercise, which, str(result))
        assert result._repr_html_()
        expected = near.get((exercise, which)) or wrong[exercise].get(which, [])
        assert [words for words in expected if words not in str(result)] == [], (exercise, which, str(result))
        if which not in ("stub", "solution"):
            assert all(note.details for note in result.notes if not note.right), str(result)
