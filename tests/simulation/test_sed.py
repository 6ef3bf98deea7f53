"""The built-in sed beside GNU sed: the same scripts print the same."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.simulation.test_shell import built_in, dash, process


def _is_gnu() -> bool:
    found = shutil.which("sed")
    if found is None or shutil.which("dash") is None:
        return False
    return b"GNU sed" in subprocess.run([found, "--version"], capture_output=True, check=False).stdout


needs_gnu = pytest.mark.skipif(not _is_gnu(), reason="compares with GNU sed and dash, which this machine does not have")
_SCRIPTS = Path(__file__).with_name("sed_scripts.txt").read_text("utf-8").removesuffix("\n").split("\n%%\n")[1:]


@needs_gnu
@pytest.mark.parametrize("script", _SCRIPTS)
def test_the_same_as_gnu_sed(script: str, tmp_path: Path) -> None:
    """Substitutions, addresses, ranges, texts, jumps, the hold space, files, and options."""
    assert built_in(script) == dash(script, tmp_path)


_ADDRESSES = st.sampled_from(["", "1", "3", "$", "/a/", "/b$/", "2,4", "/a/,/c/", "2,$", "1~2", "/b/,+1", "4,2", "2!"])
_COMMANDS = st.sampled_from([
    "p", "d", "s/a/X/", "s/[ab]/<&>/g", "s/b*/-/2", "y/abc/xyz/", "=", "h", "H", "g", "G", "x", "n", "N", "P", "q",
    "s/\\(.\\)\\(.\\)/\\2\\1/p", "{s/c/C/;p}", "i top", "a end", "b", "s/$/!/;t", "c new",
])  # fmt: skip


@needs_gnu
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@example(["N", "s/\\(.\\)\\(.\\)/\\2\\1/p"], False)  # a point stands for the end of a line too
@given(st.lists(st.tuples(_ADDRESSES, _COMMANDS).map("".join), min_size=1, max_size=4), st.booleans())
def test_generated_scripts(tmp_path_factory: pytest.TempPathFactory, commands: list[str], quiet: bool) -> None:
    """Whatever is put together of these parts does the same."""
    script = "\n".join(commands)
    line = f"printf 'abc\\nb a\\n\\ncab\\nxb\\n' | sed {'-n' if quiet else ''} '{script}'"
    assert built_in(line) == dash(line, tmp_path_factory.mktemp("sed"))


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("s/a/b", "unterminated command"),
        ("k", "unsupported command k"),
        ("{p", "unmatched {"),
        ("b nowhere", "can't find label"),
        ("s/a/\\1/", "invalid reference"),
        ("s/(/x/", ""),
        (":a; s/x/xx/; ta", "out of memory"),
        (":a; s/$/xxxxxxxxxxxxxxxxxxxx/; G; h; ba", "out of memory"),
        ("y/ab/c/", "different lengths"),
        ("//p", "no previous regexp"),
    ],
)
def test_wrong_scripts(script: str, told: str) -> None:
    """They end with a message, and hold nobody up."""
    made = process(f"printf 'xa\\n' | sed '{script}'", until=1e7)
    for turn in range(200):
        made.advance(1e7 + turn)
    assert made.ended is not None
    assert told in made.printed[-1].data.decode()
