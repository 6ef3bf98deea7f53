"""Files that are written as a whole: links, permissions, full disks, pipes."""

from __future__ import annotations

import ast
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from simkit.meta.whole_file import PRIVATE, write_whole

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).parents[2] / "simkit"
DIRECTLY = {
    "meta/whole_file.py": "the writer itself: pipes and devices",
    "engine/pipeline/audit/backends.py": "a log that grows",
    "engine/egress/peer.py": "a temporary file for OpenSSL",
    "snapshot/etcd/backup.py": "a log in a temporary folder",
    "engine/http/certificates.py": "a lock",
    "simulation/shell/user_files.py": "an archive in memory",
    "cli/manifest_sources.py": "a git directory in a temporary folder",
    "cli/notebooks.py": "a folder that was not there before",
    "simulation/kubelet/host_programs.py": "a temporary folder, before the program runs that sees it",
}
"""Modules that write files in another way, and why."""
METHODS = {"write_text", "write_bytes"}
FUNCTIONS = {"mkstemp", "NamedTemporaryFile", "copytree", "copyfile", "copyfileobj", "copy", "copy2", "move"}
MODULES = {"tempfile", "shutil"}


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    """A link at the place of an output, as a checkout may have it, does not lead the output elsewhere."""
    victim, link = tmp_path / "victim", tmp_path / "out.json"
    victim.write_text("precious")
    link.symlink_to(victim)
    write_whole(link, "new")
    assert victim.read_text() == "precious"
    assert link.read_text() == "new"
    assert not link.is_symlink()


def test_private_files_are_private_whatever_the_process_gives(tmp_path: Path) -> None:
    """Neither the mask of the process nor an older file of the same name opens a file with secrets."""
    old = tmp_path / "old"
    old.touch()
    old.chmod(0o666)
    before = os.umask(0)
    try:
        for path in (tmp_path / "new", old):
            write_whole(path, b"secret", mode=PRIVATE)
            assert path.stat().st_mode & 0o777 == PRIVATE
        assert write_whole(tmp_path / "public", "").stat().st_mode & 0o777 == 0o666
    finally:
        os.umask(before)


def test_permissions_of_a_file_that_is_written_again_stay(tmp_path: Path) -> None:
    """A report that others may not read stays so."""
    path = write_whole(tmp_path / "report", "a")
    path.chmod(0o640)
    assert write_whole(path, "b").stat().st_mode & 0o777 == 0o640


def test_a_full_disk_leaves_the_file_of_before(tmp_path: Path) -> None:
    """What cannot be written whole is not written, is told with its name, and leaves nothing beside it."""
    path = write_whole(tmp_path / "dump.json", "whole")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limit[1]))
        with pytest.raises(OSError, match=r"dump\.json"):
            write_whole(path, b"x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    """It is told by its name, and nothing is left in it or beside it."""
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(IsADirectoryError, match="folder"):
        write_whole(folder, "x")
    assert list(tmp_path.rglob("*")) == [folder]


@pytest.mark.parametrize("name", ["a" * 255, "\N{SNOWMAN}" * 85])
def test_the_longest_names(tmp_path: Path, name: str) -> None:
    """A name of 255 bytes leaves room for the file beside it."""
    assert write_whole(tmp_path / name, "x").read_text() == "x"


def test_open_files_are_written_to(tmp_path: Path) -> None:
    """``/dev/stdout`` and pipes by name stay what they are."""
    words = [sys.executable, "-c", "from simkit.meta.whole_file import write_whole; write_whole('/dev/stdout', 'told')"]
    with (tmp_path / "out").open("wb") as out:
        subprocess.run(words, stdout=out, check=True, timeout=60)
    assert (tmp_path / "out").read_text() == "told"
    assert Path("/dev/stdout").is_symlink()
    assert subprocess.run(words, capture_output=True, check=True, timeout=60).stdout == b"told"


def test_every_module_writes_files_in_this_way() -> None:
    """A walk over the source finds other ways of writing; each has its reason here."""
    found = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if any(map(_writes, _calls(path)))}
    assert found == set(DIRECTLY)


def _calls(path: Path) -> list[ast.Call]:
    return [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]


def _writes(call: ast.Call) -> bool:
    *before, name = ast.unparse(call.func).split(".")
    if before and (name in METHODS or (before[-1] in MODULES and name in FUNCTIONS)):
        return True
    modes: list[Any] = [each.value for each in call.args if isinstance(each, ast.Constant)]
    modes += [each.value.value for each in call.keywords if each.arg == "mode" and isinstance(each.value, ast.Constant)]
    return name == "open" and any(isinstance(mode, str) and len(mode) < 4 and set(mode) & set("wax") for mode in modes)
