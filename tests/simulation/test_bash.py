"""The built-in shell beside bash, for what dash does not have."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.simulation.test_shell import built_in

_BASH = shutil.which("bash")
_SCRIPTS = Path(__file__).with_name("bash_scripts.txt").read_text("utf-8").removesuffix("\n").split("\n%%\n")[1:]


@pytest.mark.skipif(_BASH is None, reason="compares with bash, which this machine does not have")
@pytest.mark.parametrize("script", _SCRIPTS)
def test_the_same_as_bash(script: str, tmp_path: Path) -> None:
    """Arithmetic commands, loops that count, ``declare`` and ``let``."""
    ran = subprocess.run(
        [str(_BASH), "-c", script],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": "/root"},
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=20,
        check=False,
    )
    assert built_in(script) == (ran.returncode, ran.stdout.decode())
