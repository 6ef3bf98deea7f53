"""A shell that reads its commands from its input without a terminal, as ``kubectl exec -i POD -- sh < script``."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from simkit.simulation.kubelet.process import STDOUT, Container, Process
from simkit.simulation.kubelet.shell import script_program

_DASH = shutil.which("dash")
_SCRIPTS = (
    "if true\nthen echo a\nfi\nexit 3\n",
    "f() {\n  echo $1\n}\nf a\nf 'b\nc'\n",
    "cat <<E\nhi $(echo 2)\nE\necho ho\n",
    "trap 'echo bye' EXIT\nfor n in 1 2; do\necho $n \\\n  and\ndone\n",
    "echo a\nfi\necho no\n",
    "if true\nthen echo a",
    "export =bar\necho no\n",
    r"printf 'a\351\303\251'" + "\n",
    r"printf '%b' '\0303\0251'" + "\n",
    "x=$(cat <<'E'\n$x\nE\n)\necho \"$x\"\n",
)


def _fed(script: str, *, by_line: bool, image: str = "") -> Process:
    """A shell that got a script as its input, at once or line by line, and then the end of it."""
    container = Container({}, {"image": image}, environment={"PATH": "/bin"}, pid=7)
    made, now = Process(script_program(["sh"])(container), 0.0, takes_input=True), 0.0
    for part in script.splitlines(keepends=True) if by_line else [script]:
        made.feed(part.encode(), now)
        now += 0.2
        made.advance(now)
    made.end_input(now)
    made.advance(now + 100.0)
    return made


def _printed(made: Process) -> bytes:
    return b"".join(each.data for each in made.printed if each.stream == STDOUT)


@pytest.mark.skipif(_DASH is None, reason="dash is not on this machine")
@pytest.mark.parametrize("by_line", [True, False])
@pytest.mark.parametrize("script", _SCRIPTS)
def test_commands_of_several_lines_are_read_as_in_dash(script: str, by_line: bool) -> None:
    """Lines are joined until a command is whole, and a fault ends the shell."""
    assert _DASH is not None
    ran = subprocess.run([_DASH], input=script.encode(), capture_output=True, timeout=20, check=False)
    made = _fed(script, by_line=by_line)
    assert made.ended is not None
    assert (made.ended[1], _printed(made)) == (ran.returncode, ran.stdout)


def test_a_command_is_run_before_the_input_ends() -> None:
    """A client that waits for an answer gets it, also behind a long here-document."""
    made = Process(script_program(["sh"])(Container({}, {}, pid=7)), 0.0, takes_input=True)
    made.feed(("cat <<E\n" + "line\n" * 2_000 + "E\necho whole\n").encode(), 0.0)
    made.advance(0.1)
    made.advance(1.0)
    assert _printed(made) == b"line\n" * 2_000 + b"whole\n"
    assert made.ended is None


def test_a_command_in_the_background_keeps_the_connection_that_hears_it() -> None:
    """Exec ends with the last command that has its output, and with the exit code of the first."""
    made = _fed("(sleep 5; echo late) &\nsleep 50 > /dev/null 2>&1 &\necho first\nexit 4\n", by_line=False)
    assert _printed(made) == b"first\nlate\n"
    assert made.ended is not None
    assert (round(made.ended[0]), made.ended[1]) == (5, 4)
