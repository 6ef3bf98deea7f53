"""Programs of the built-in shell beside those of this machine: the same scripts print the same."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("printf 'a\\nb\\n' > f; printf 'c\\n' > g; wc -l f g; wc f", "        2 f\n        1 g\n        3 total\n        2         2         4 f\n"),
        ("seq 3 > f; (sleep 5; echo 4 >> f) & timeout 20 tail -n 1 -f f; date +%s", "3\n4\n20\n"),
        ("(sleep 3; echo late > f) & timeout 9 tail -F f 2> /dev/null", "late\n"),
        ("shuf -i 1-9 > a; shuf -i 1-9 > b; sort a | paste -sd '' -", "123456789\n"),
        ("echo abc | grep -P '(a'; echo $?", "2\n"),
        ("echo x | grep --what x; echo $?; echo x | sort --what; echo $?", "2\n2\n"),
    ],
)  # fmt: skip
def test_beside_the_programs_of_this_machine(script: str, expected: str) -> None:
    """What busybox does, what takes time, and what is wrong."""
    assert printed(process(script, shell="bash")) == expected
