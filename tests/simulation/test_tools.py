"""Programs of the built-in shell beside those of this machine: the same scripts print the same."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simkit.simulation.shell.differences import changes
from tests.simulation.test_shell import built_in, printed, process

_BASH = shutil.which("bash")
_SCRIPTS = Path(__file__).with_name("tool_scripts.txt").read_text("utf-8").removesuffix("\n").split("\n%%\n")[1:]
_NEEDED = ("gawk", "column", "hexdump", "xxd", "diff", "cmp", "join", "split", "shuf", "od", "find", "xargs")
_GNU = (
    _BASH is not None and b"coreutils" in subprocess.run(["sort", "--version"], capture_output=True, check=False).stdout
)


def real(script: str, folder: Path) -> tuple[int, str]:
    """The exit code of a script with the programs of this machine, of which awk is gawk, and what it prints."""
    missing = [name for name in _NEEDED if name in script and shutil.which(name) is None]
    if not _GNU or missing:
        pytest.skip(f"compares with programs that this machine does not have: {missing or 'GNU coreutils'}")
    if "awk" in script and shutil.which("gawk") is None:
        pytest.skip("compares with gawk, which this machine does not have")
    (folder / "bin").mkdir()
    (folder / "work").mkdir()
    if shutil.which("gawk"):
        (folder / "bin" / "awk").symlink_to(str(shutil.which("gawk")))
    environment = {"PATH": f"{folder}/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root", "TZ": "UTC"}
    ran = subprocess.run(
        [str(_BASH), "-c", script], cwd=folder / "work", env=environment, capture_output=True, check=False,
        stdin=subprocess.DEVNULL, timeout=20,
    )  # fmt: skip
    return ran.returncode, ran.stdout.decode()


@pytest.mark.parametrize("script", _SCRIPTS)
def test_the_same_as_the_programs_of_this_machine(script: str, tmp_path: Path) -> None:
    """Options of grep, sort, cut, tr, wc, head, tail, uniq, paste, join, split, column and others."""
    if "root" in script and os.getuid():
        pytest.skip("compares files of root")
    assert built_in(script, "bash") == real(script, tmp_path)


_DIFF = shutil.which("diff")


@pytest.mark.skipif(_DIFF is None, reason="compares with diff, which this machine does not have")
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
def test_differences_are_the_fewest(one: list[str], other: list[str]) -> None:
    """The changes make the other list, and are no more than those that diff finds."""
    made, at = [], 0
    found = changes(one, other)
    for each in found:
        made += one[at : each.start] + other[each.other_start : each.other_end]
        at = each.end
    assert made + one[at:] == other
    with NamedTemporaryFile("w") as left, NamedTemporaryFile("w") as right:
        left.write("".join(f"{each}\n" for each in one))
        right.write("".join(f"{each}\n" for each in other))
        left.flush()
        right.flush()
        shown = subprocess.run(
            [str(_DIFF), "--minimal", left.name, right.name], capture_output=True, text=True, check=False
        ).stdout
    lines = sum(line.startswith(("<", ">")) for line in shown.splitlines())
    assert sum(each.end - each.start + each.other_end - each.other_start for each in found) == lines


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("printf 'a\\nb\\n' > f; printf 'c\\n' > g; wc -l f g; wc f", "        2 f\n        1 g\n        3 total\n        2         2         4 f\n"),
        ("seq 3 > f; (sleep 5; echo 4 >> f) & timeout 20 tail -n 1 -f f; date +%s", "3\n4\n20\n"),
        ("(sleep 3; echo late > f) & timeout 9 tail -F f 2> /dev/null", "late\n"),
        ("shuf -i 1-9 > a; shuf -i 1-9 > b; sort a | paste -sd '' -", "123456789\n"),
        ("echo abc | grep -P '(a'; echo $?", "2\n"),
        ("seq 9000 > f; seq 2 9001 | tac > g; diff f g | wc -l", "18002\n"),
        ("date -d '1 hour ago' +%s; date +%N | wc -c; sleep 1.25; date +%s%3N", "-3600\n10\n1250\n"),
        ("df -h / | wc -l; df -h | tail -n 1 | tr -s ' '; df /nothing; echo $?", "2\noverlay 97G 7.8G 89G 8% /\n1\n"),
        ("echo x | grep --what x; echo $?; echo x | sort --what; echo $?", "2\n2\n"),
    ],
)  # fmt: skip
def test_beside_the_programs_of_this_machine(script: str, expected: str) -> None:
    """What busybox does, what takes time, and what is wrong."""
    assert printed(process(script, shell="bash")) == expected
