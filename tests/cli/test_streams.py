"""Standard streams that are closed, full, or of another encoding."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import orjson
import pytest
import yaml

pytestmark = pytest.mark.slow

NAME = "J\N{LATIN SMALL LETTER U WITH DIAERESIS}rgen \N{RIGHTWARDS ARROW}"
SIMKIT = f"{sys.executable} -m simkit.cli"


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A dump with one binding, whose subject is no ASCII text."""
    subject = {"kind": "User", "name": NAME, "apiGroup": "rbac.authorization.k8s.io"}
    role = {"kind": "ClusterRole", "name": "view", "apiGroup": "rbac.authorization.k8s.io"}
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "b"}}
    path = tmp_path / "dump.yaml"
    path.write_text(yaml.safe_dump({**kind, "roleRef": role, "subjects": [subject]}))
    return path


def ran(line: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    given = {"PATH": "/usr/bin:/bin", "HOME": str(folder), **environment}
    return subprocess.run(
        ["sh", "-c", line], capture_output=True, encoding="utf-8", env=given, cwd=folder, timeout=120, check=False
    )


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_file_that_is_opened_next(dump: Path, closed: str) -> None:
    """A store that is written while standard output is closed does not become standard output."""
    done = ran(f"{SIMKIT} save {dump} --complete '*' --to sqlite:x.db {closed}", dump.parent)
    assert (done.returncode, done.stdout) == (0, "")
    again = ran(f"{SIMKIT} bindings {dump} --complete '*' -o json {closed}", dump.parent)
    assert again.returncode == 0
    assert "Traceback" not in again.stderr
    assert (dump.parent / "x.db").read_bytes().startswith(b"SQLite format 3")


def test_nothing_on_a_closed_input(dump: Path) -> None:
    """A closed standard input is an empty one."""
    done = ran(f"{SIMKIT} bindings - <&-", dump.parent)
    assert done.returncode == 2
    assert "fault of simkit" not in done.stderr


def test_a_reader_that_goes_away_has_not_seen_a_clean_answer(dump: Path) -> None:
    """The exit code is that of a broken pipe, since a pipeline with ``pipefail`` would take 0 for no findings."""
    done = ran(f"{{ {SIMKIT} bindings {dump} --complete '*' -o json; echo $? > code; }} | true", dump.parent)
    assert (dump.parent / "code").read_text().strip() == "141"
    assert done.stderr.count("Traceback") == 0


@pytest.mark.parametrize("form", ["table", "json", "csv", "html"])
@pytest.mark.parametrize("environment", [{"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONIOENCODING": "latin-1"}])
def test_answers_are_utf_8_whatever_the_locale_says(dump: Path, form: str, environment: dict[str, str]) -> None:
    """As kubectl writes them: JSON in another encoding would be none."""
    done = ran(f"{SIMKIT} bindings {dump} --complete '*' -o {form}", dump.parent, PYTHONUTF8="0", **environment)
    assert done.returncode == 0, done.stderr
    assert NAME in done.stdout
    if form == "json":
        assert orjson.loads(done.stdout)[0]["subject"] == f"user:{NAME}"


def test_a_full_disk_behind_standard_output(dump: Path) -> None:
    """It is told, and is no answer."""
    done = ran(f"{SIMKIT} bindings {dump} --complete '*' > /dev/full", dump.parent)
    assert done.returncode == 2
    assert "No space left" in done.stderr
