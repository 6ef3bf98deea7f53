"""The built-in shell beside bash, for what dash does not have."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.simulation.test_shell import built_in, dash, needs_dash, printed, process

_BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(_BASH is None, reason="compares with bash, which this machine does not have")
_SCRIPTS = Path(__file__).with_name("bash_scripts.txt").read_text("utf-8").removesuffix("\n").split("\n%%\n")[1:]


def table(name: str = "bash_table.txt") -> Iterator[tuple[str, tuple[int, str]]]:
    """The scripts of a table, each with its exit code and what it prints, without the last line's end."""
    for block in Path(__file__).with_name(name).read_text("utf-8").split("\n%%\n")[1:]:
        script, _, told = block.removesuffix("\n").partition("\n%= ")
        code, _, output = told.partition("\n")
        yield script, (int(code), output)


def without_last_line_end(answer: tuple[int, str]) -> tuple[int, str]:
    """An answer of a script as tables have it."""
    return answer[0], answer[1].removesuffix("\n")


def bash(script: str, folder: Path, *before: str) -> tuple[int, str]:
    """The exit code of a script in bash, and what it prints; ``before`` it stands a command that runs it."""
    ran = subprocess.run(
        [*before, str(_BASH), "-c", script],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": "/root", "TZ": "UTC"},
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=20,
        check=False,
    )
    return ran.returncode, ran.stdout.decode()


@needs_bash
@pytest.mark.parametrize("script", _SCRIPTS)
def test_the_same_as_bash(script: str, tmp_path: Path) -> None:
    """Arithmetic commands, loops that count, ``declare`` and ``let``."""
    assert built_in(script, "bash") == bash(script, tmp_path)


@pytest.mark.parametrize(("script", "expected"), list(table()))
def test_what_bash_prints(script: str, expected: tuple[int, str]) -> None:
    """Arrays, files in whose place commands stand, conditions, spellings, traps for events, braces and options."""
    assert without_last_line_end(built_in(script, "bash")) == expected


@needs_bash
@pytest.mark.parametrize(("script", "expected"), list(table()))
def test_the_table_is_true(script: str, expected: tuple[int, str], tmp_path: Path) -> None:
    """What the table says is what bash on this machine does."""
    assert without_last_line_end(bash(script, tmp_path)) == expected


@needs_dash
@pytest.mark.parametrize(
    "script",
    [
        "echo a; b=(1 2)",
        "echo ${a[0]}",
        "i=1; ((i++)); echo $?",
        "for ((i=0;i<2;i++)); do echo $i; done",
        "cat <<< hi",
        "cat <(echo hi)",
        "declare x=1; echo $?",
        "typeset x=1; echo $?",
        "x=1; x+=2; echo $x",
        "shopt -s nullglob; echo $?",
        "mapfile a < /dev/null; echo $?",
        "echo {1..3} {a,b}",
        "v=a; echo ${v^^}",
        "v=a; echo ${!v}",
        "v=a; echo ${v@Q}",
        "echo $((2 ** 3))",
        "echo $((16#ff))",
        "case a in a) echo 1;;& *) echo 2;; esac",
        "pushd /; echo $?",
    ],
)
def test_what_only_bash_has(script: str, tmp_path: Path) -> None:
    """A shell that is not named bash refuses it, as dash does."""
    assert built_in(script, "sh") == dash(script, tmp_path)


def test_a_script_that_is_told_as_a_text_may_use_what_bash_has() -> None:
    """No shell is named for it."""
    assert built_in("a=(x y); echo ${a[1]}; cat <<< z") == (0, "y\nz\n")


def test_commands_beside_a_loop_that_reads_them() -> None:
    """A loop gets each line of ``< <(...)`` when it is written, and sets variables of its own shell."""
    script = "while read n; do date +%s; x=$n; done < <(for i in 1 2; do sleep 5; echo $i; done); echo $x"
    assert built_in(script, "bash") == (0, "5\n10\n2\n")


def test_output_that_goes_through_commands_shows_at_once() -> None:
    """``exec > >(...)`` has commands write what a script writes, while it runs."""
    made = process("exec > >(sed s/^/log:/); echo begun; sleep 50; echo done", shell="bash", until=10)
    assert printed(made) == "log:begun\n"
    made.advance(100)
    assert made.ended == (50.0, 0)
    assert printed(made) == "log:begun\nlog:done\n"


def test_commands_that_read_nothing_hold_nobody() -> None:
    """A shell does not wait for them at its end."""
    made = process("echo a > >(sleep 1000); echo b", shell="bash")
    assert made.ended == (0.0, 0)


def test_seconds_pass() -> None:
    """``SECONDS`` counts them since the start of the shell, or since it was set."""
    assert built_in("sleep 3; echo $SECONDS; SECONDS=10; sleep 2; echo $SECONDS", "bash") == (0, "3\n12\n")
