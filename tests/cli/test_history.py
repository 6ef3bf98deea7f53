"""``simkit history``: access in the past on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import orjson
import pytest

from simkit.cli import main
from tests.analysis.history.test_access_history import log_of, told


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A dump of the end, and a log in which mallory binds ann and root takes it back."""
    folder = tmp_path_factory.mktemp("past")
    cluster, _ = told()
    log, dump = folder / "audit.jsonl", folder / "dump.json"
    log.write_bytes(b"\n".join(orjson.dumps(event) for event in log_of(cluster)))
    cluster.save(dump)
    return str(dump), str(log)


def run(files: tuple[str, str], *words: str) -> int:
    return main(["history", *words, "--dump", files[0], "--audit-log", files[1], "--dumped-at", "2026-03-03T01:12:41Z"])


def test_changes_and_intervals(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Who did it, and in which intervals access was there."""
    assert run(files, "changes", "-o", "json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["user"], row["verb"]) for row in rows[-2:]] == [("user:mallory", "create"), ("user:root", "delete")]
    assert run(files, "since", "user:ann", "get", "pods", "-n", "dev", "-o", "json") == 0
    assert [row["verdict"] for row in json.loads(capsys.readouterr().out)] == ["no", "yes", "no"]


def test_one_moment(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code tells yes from no and unknown."""
    asked = ("can", "user:ann", "get", "pods", "-n", "dev", "--at")
    assert run(files, *asked, "2026-03-03T01:10:00Z") == 0
    assert "yes" in capsys.readouterr().out
    assert run(files, *asked, "2026-03-03T01:12:00Z") == 1
    assert run(files, *asked, "2027-01-01") == 1
    assert "unknown" in capsys.readouterr().out
    assert run(files, "who-can", "get", "pods", "-n", "dev", "--at", "2026-03-03T01:10:00Z") == 0
    assert "user:ann" in capsys.readouterr().out


def test_a_moment_that_nothing_covers(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody is listed, the exit code is 1, and a day without a time is said to be its beginning."""
    assert run(files, "who-can", "get", "pods", "--at", "2027-01-01", "-o", "json") == 1
    told = capsys.readouterr()
    assert "2027-01-01T00:00:00Z, the beginning of that day" in told.err
    assert "No dump and no audit log covers this moment" in told.err
    assert "system:masters" not in told.out


def test_what_is_assumed_after_the_log(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """A dump shortly after the log extends what is known, and that is said; so is that nobody knows the beginning."""
    words = ("since", "user:ann", "get", "pods", "--dump", files[0], "--audit-log", files[1])
    assert main(["history", *words, "--dumped-at", "2026-03-03T01:15:00Z"]) == 0
    told = capsys.readouterr().err
    assert "nothing was written between the log's end and the dump (2026-03-03 01:15:00)." in told
    assert "where CHANGED BY is empty" in told


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("can", "user:ann", "get"), "SUBJECT VERB RESOURCE"),
        (("since", "user:ann"), "SUBJECT VERB RESOURCE"),
        (("can", "user:ann", "get", "pods", "--at", "yesterday"), "is no moment"),
        (("changes", "now"), "no further words"),
    ],
)
def test_wrong_use(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    """It says what to write."""
    assert run(files, *words) == 2
    assert message in capsys.readouterr().err


def test_a_file_that_is_no_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither a log nor a dump tells anything: that is an error."""
    (tmp_path / "empty").write_text("")
    assert main(["history", "changes", "--audit-log", str(tmp_path / "empty")]) == 2
    assert "a history needs a dump" in capsys.readouterr().err


def test_a_series_of_dumps(files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Paths and the files of a folder are dumps of different moments; without a log, the answer names simkit diff."""
    paths = [tmp_path / name for name in ("february.json", "march.json")]
    for path in paths:
        path.write_bytes(Path(files[0]).read_bytes())
    moments = ("--dumped-at", "2026-02-03T00:00:00.1Z", "--dumped-at", "2026-03-03T00:00:00Z")
    for words in (map(str, paths), [str(tmp_path)]):
        assert main(["history", "since", "user:ann", "get", "pods", *words, *moments]) == 0
        rows = capsys.readouterr().out.splitlines()
        assert rows[1].split() == ["2026-02-03", "00:00:00.100000Z", "2026-02-03", "00:00:00.100000Z", "no"]
        assert rows[2].split()[-1] == "unknown"
    assert main(["history", *map(str, paths), *moments]) == 1
    assert f"simkit diff {paths[0]} {paths[1]}" in capsys.readouterr().err
