"""Work of panels runs beside the kernel, in order, and the latest question wins."""

from __future__ import annotations

import threading

from simkit.meta.errors import SimkitError, UnknownNamespace
from simkit.meta.warning import warn_user
from simkit.notebook.sections import Background
from simkit.present.progress import tracked


def test_the_caller_does_not_wait() -> None:
    """The line is handed back at once; what was found comes later."""
    line, gate, found = Background(), threading.Event(), list[int]()
    line.run("counting", lambda: gate.wait(30) and 7, lambda value: found.append(int(value)))
    assert found == []
    assert "counting" in line.told.value
    gate.set()
    line.wait()
    assert found == [7]
    assert line.told.value == ""
    assert line.bar.hidden


def test_the_latest_question_wins() -> None:
    """An earlier one that had not begun is not asked, and the answer of one under way is dropped; effects happen."""
    line, gate, begun = Background(), threading.Event(), threading.Event()
    asked, found = list[str](), list[str]()

    def work(name: str) -> str:
        asked.append(name)
        begun.set()
        gate.wait(30)
        return name

    line.run("first", lambda: work("first"), found.append)
    begun.wait(30)
    line.run("second", lambda: work("second"), found.append)
    line.run("effect", lambda: work("effect"), found.append, always=True)
    line.run("last", lambda: work("last"), found.append)
    gate.set()
    line.wait()
    assert asked == ["first", "effect", "last"]
    assert found == ["last"]


def test_errors_are_told_escaped() -> None:
    """A user's error stands in the line; the next work is done all the same."""
    line, found = Background(), list[int]()

    def refused() -> int:
        raise SimkitError("no <b> here")

    line.run("asking", refused, found.append)
    line.wait()
    assert "no &lt;b&gt; here" in line.told.value
    line.run("asking", lambda: 1, found.append)
    line.wait()
    assert found == [1]


def test_progress_of_analyses_is_shown_in_the_line() -> None:
    """A task that counts moves the bar of its panel, and no other display."""
    line, seen = Background(), set[tuple[int, int]]()
    line.bar.observe(lambda change: seen.add((line.bar.value, line.bar.max)), "value")

    def work() -> int:
        gate = threading.Event()
        for _ in tracked(range(3), "counting"):
            gate.wait(0.12)
        return 1

    line.run("counting", work, lambda _: None)
    line.wait()
    assert (3, 3) in seen or (2, 3) in seen


def test_doubts_are_told_in_the_line_and_go_with_the_next_question() -> None:
    """A warning of the work stands behind what was found, once, and is not printed."""
    line = Background()

    def doubtful() -> int:
        for _ in range(2):
            warn_user(UnknownNamespace("there is no namespace '<b>'"))
        return 7

    line.run("asking", doubtful, lambda value: line.tell(f"{value} rows"))
    line.wait()
    assert line.told.value.startswith("7 rows<br>")
    assert line.told.value.count("there is no namespace &#x27;&lt;b&gt;&#x27;") == 1
    line.run("asking", lambda: 1, lambda _: None)
    line.wait()
    assert line.told.value == ""


def test_after_an_error_the_earlier_answer_can_be_taken_away() -> None:
    """A function is called after an error, and only then."""
    line, taken = Background(), list[str]()

    def refused() -> int:
        raise SimkitError("no")

    line.run("asking", lambda: 1, lambda _: None, failed=lambda: taken.append("found"))
    line.run("asking", refused, lambda _: None, failed=lambda: taken.append("refused"))
    line.wait()
    assert taken == ["refused"]
