"""Progress of long work: who sees it, and when."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from simkit.cli import main
from simkit.present import progress
from tests.shared import SHARED, needs_shared

SLOW = """
import time
from simkit.present import progress
progress.PATIENCE = 0.2
{before}
with progress.task("outer"):
    for _ in progress.tracked(range(8), "inner"):
        time.sleep(0.1)
print("answer")
"""


def on_terminal(code: str, **variables: str) -> tuple[str, str]:
    """The output of a program to a terminal as standard error, and to a pipe as standard output."""
    pty = pytest.importorskip("pty")
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (24, 100))
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", **variables}
    process = subprocess.Popen([sys.executable, "-c", code], stderr=follower, stdout=subprocess.PIPE, env=environment)
    os.close(follower)
    told = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # Linux says so where the other end is closed
            break
        if not part:
            break
        told += part
    os.close(leader)
    assert process.stdout is not None
    answer = process.stdout.read().decode()
    process.stdout.close()
    assert process.wait(60) == 0
    return told.decode(), answer


def test_a_terminal_shows_what_takes_long_and_clears_it() -> None:
    """The tasks with their counts; afterwards the line is empty, and standard output holds the answer alone."""
    told, answer = on_terminal(SLOW.format(before=""))
    assert "outer" in told
    assert re.search(r"inner [2-7]/8", told)
    assert re.search(r"\r +\r$", told)
    assert answer == "answer\n"


@pytest.mark.parametrize(
    ("before", "variables"),
    [("progress.silence()", {}), ("progress.PATIENCE = 9", {}), ("", {"TERM": "dumb"})],
    ids=["quiet", "soon done", "no terminal to draw on"],
)
def test_short_and_silenced_tasks_show_no_progress(before: str, variables: dict[str, str]) -> None:
    """Quiet, quick, or on what cannot draw."""
    assert on_terminal(SLOW.format(before=before), **variables) == ("", "answer\n")


def test_files_and_pipes_get_no_progress(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """And no thread is started for it. A library of notebooks that is imported makes no notebook."""
    importlib.import_module("ipykernel")
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    running = threading.active_count()
    for _ in progress.tracked(range(3), "counting"):
        assert threading.active_count() == running
    assert capsys.readouterr().err == ""


def test_a_notebook_gets_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """In the cell that works, once it has taken long enough; it goes away at the end."""
    shown: list[tuple[str, int, bool]] = []

    class Bar:
        """Stands for the bar of a notebook."""

        def __init__(self, *, total: int | None, desc: str, **_: object) -> None:
            self.n, self.desc = 0, desc

        def update(self, amount: int) -> None:
            self.n += amount
            shown.append((self.desc, self.n, True))

        def close(self) -> None:
            shown.append((self.desc, self.n, False))

    monkeypatch.setattr("tqdm.notebook.tqdm", Bar)
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.task("outer"):
        assert list(progress.tracked(range(3), "inner")) == [0, 1, 2]
    assert ("inner", 1, True) in shown
    assert {text for text, _, there in shown if not there} == {"outer", "inner"}


def test_an_unfinished_loop_leaves_nothing_behind() -> None:
    """A reader may stop, and an error may end the work."""

    def first() -> int:
        return next(iter(progress.tracked([1, 2], "abandoned")))

    assert first() == 1

    def failing() -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        list(progress.tracked(failing(), "failing"))
    assert progress._WATCH._tasks == []


@pytest.mark.slow
@needs_shared
def test_commands_that_take_long_say_that_they_work() -> None:
    """Loading and analysing a large dump on a terminal; with --quiet nothing is said."""
    dump = str(SHARED / "datasets" / "operators-and-teams.json.gz")
    run = f"""
from simkit.cli import main
from simkit.present import progress
progress.PATIENCE = 0.05
raise SystemExit(main(["escalations", {dump!r}, "--goal", "cluster-admin", "-o", "csv", *EXTRA]) - 1)
"""
    told, answer = on_terminal(run.replace("*EXTRA", ""))
    assert "working" in told
    assert "loading" in told
    assert answer.startswith("subject,")
    quiet, same = on_terminal(run.replace("*EXTRA", "'--quiet'"))
    assert quiet == ""
    assert same == answer


def test_serving_is_no_progress() -> None:
    """A command that is to last says when it is ready, not that it is at work."""
    assert main(["serve", "--secure-port", "0"]) == 2


def test_a_count_without_an_end_is_shown_once_it_has_begun() -> None:
    """A task of unknown length is shown before anything is counted, and with its count afterwards."""
    counting = """
import time
from simkit.present import progress
progress.PATIENCE = 0.2
with progress.task("counting") as task:
    time.sleep(0.5)
    for _ in range(5):
        task.advance()
        time.sleep(0.15)
"""
    told, _ = on_terminal(counting)
    assert re.search(r"counting [2-5] ", told)
