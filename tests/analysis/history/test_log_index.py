"""Questions about the past have the same answers from an index on disk as from a log in memory."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import orjson
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit import SimkitError
from simkit.analysis.access.compare import compare
from simkit.analysis.history import reconstruction
from simkit.analysis.history import recorded as recorded_events
from simkit.analysis.history.access_history import AccessHistory
from simkit.analysis.history.reconstruction import history
from simkit.analysis.history.recorded import LogIndex
from simkit.cli import main
from tests.analysis.history.test_access_history import USERS, dump_of, log_of, past_answers, recorded

duckdb = pytest.importorskip("duckdb", reason="the index is an extra")
MOMENT = 1e-6


def written(path: Path, events: list[Any]) -> Path:
    path.write_bytes(b"".join(orjson.dumps(event) + b"\n" for event in events))
    return path


def answers(past: AccessHistory, times: list[float]) -> list[Any]:
    """What every question answers, with its limits."""
    found: list[Any] = [past.caveats, past.timeline.covered, past.changes()]
    for user in USERS:
        found += [past.since_when(user, "get", "secrets", namespace="dev"), past.used_since(user, "get", "pods")]
    for time in times:
        found += [list(past_answers(past, time)), past.who_can("get", "pods", namespace="dev", at=time)]
        found += [past.moment(time).objects, past.moment(time).unknown]
    return [(one.to_dict("records"), dict(one.attrs)) if isinstance(one, pd.DataFrame) else one for one in found]


@pytest.mark.slow
@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), level=st.sampled_from(["Metadata", "Request", "RequestResponse"]), data=st.data())
def test_an_index_answers_as_a_log_in_memory(
    seed: int, level: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever the level, the order of events, how often each is there, and how many fit into a file."""
    cluster, states = recorded(level, seed, 5)
    times, dumped = [time + 1 for time, _ in states[::2]], dump_of(states[0][1])
    events = log_of(cluster)
    events = data.draw(st.permutations(events + data.draw(st.lists(st.sampled_from(events), max_size=5))))
    folder = tmp_path_factory.mktemp("log")
    log = written(folder / "audit.log", events)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorded_events, "_ROWS", data.draw(st.sampled_from([3, 1000])))
        indexed = history(dumped, at=states[0][0], audit_log=log, index=folder / "index")
    inside = answers(history(dumped, at=states[0][0], audit_log=log), times)
    assert answers(indexed, times) == inside
    assert answers(history(dumped, at=states[0][0], index=folder / "index"), times) == inside


@pytest.mark.slow
@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), level=st.sampled_from(["Metadata", "RequestResponse"]), late=st.booleans())
def test_changes_and_intervals_are_those_of_each_moment(seed: int, level: str, late: bool) -> None:
    """Changes are what a comparison of the clusters before and after each write says, intervals what each moment says."""
    cluster, states = recorded(level, seed, 8)
    ends = {states[place][0]: dump_of(states[place][1]) for place in ({0, -1} if late else {0})}
    past = history(dumps=ends, audit_log=log_of(cluster))
    for row in past.changes().to_dict("records"):
        if row["known"]:
            time = row["time"].timestamp()
            change = compare(past.moment(time - MOMENT).certain, past.moment(time).certain)["change"]
            assert (row["gained"], row["lost"]) == ((change == "gained").sum(), (change == "lost").sum())
    for user in USERS:
        for row in past.since_when(user, "get", "secrets", namespace="dev").to_dict("records"):
            begin, end = row["from"].timestamp(), row["to"].timestamp()
            for time, _ in states:
                if begin <= time + 1 < end:
                    assert past.can(user, "get", "secrets", namespace="dev", at=time + 1).verdict == row["verdict"]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of a few events, of which one line is broken."""
    cluster, _ = recorded("RequestResponse", 1, 3)
    path = written(tmp_path / "audit.log", log_of(cluster))
    path.write_bytes(path.read_bytes() + b'{"auditID": "x", "verb": "cr')
    return path


def opened(folder: Path, log: Path | None = None) -> LogIndex:
    with pytest.warns(UserWarning, match="1 line of an audit log breaks off"):
        return LogIndex(folder, log)


def test_what_is_damaged_is_told_at_each_use(tmp_path: Path, log: Path) -> None:
    """The index is made once, and made again after the log has changed."""
    opened(tmp_path / "index", log)
    made = (tmp_path / "index" / "index.json").stat().st_mtime_ns
    opened(tmp_path / "index", log)
    opened(tmp_path / "index")
    assert (tmp_path / "index" / "index.json").stat().st_mtime_ns == made
    before = len(list(opened(tmp_path / "index").writes()))
    log.write_bytes(log.read_bytes() + b"\n" + log.read_bytes())
    with pytest.warns(UserWarning, match="2 lines of an audit log break off"):
        after = len(list(LogIndex(tmp_path / "index", log).writes()))
    assert after == 2 * before
    assert (tmp_path / "index").stat().st_mode & 0o077 == 0


def test_folders_that_are_no_index(tmp_path: Path, log: Path) -> None:
    """Files of somebody else are kept, and damage is told with what to do."""
    others = tmp_path / "others"
    others.mkdir()
    (others / "notes.parquet").write_text("mine")
    with pytest.raises(SimkitError, match="has files that are no index"):
        LogIndex(others, log)
    assert (others / "notes.parquet").read_text() == "mine"
    with pytest.raises(SimkitError, match="there is no index"):
        LogIndex(tmp_path / "none")
    with pytest.raises(SimkitError, match="an index is made of files"):
        LogIndex(tmp_path / "none", log.read_bytes())
    index = opened(tmp_path / "index", log)
    for file in (tmp_path / "index").glob("writes-*.parquet"):
        file.write_bytes(b"damaged")
    with pytest.raises(SimkitError, match="cannot be read, delete it"):
        list(index.writes())
    for file in (tmp_path / "index").glob("*.parquet"):
        file.unlink()
    with pytest.raises(SimkitError, match="cannot be read, delete it"):
        list(index.writes())
    (tmp_path / "index" / "index.json").write_text("{")
    with pytest.raises(SimkitError, match="cannot be read, delete it"):
        LogIndex(tmp_path / "index", log)


def test_folders_whose_names_are_patterns(tmp_path: Path, log: Path) -> None:
    """They are the folders that they name."""
    for name in ("in[dx]", "in*", "ind"):
        assert len(list(opened(tmp_path / name, log).writes())) > 0


def test_an_index_that_was_not_finished_is_made_again(tmp_path: Path, log: Path) -> None:
    """Without the file that is written last, nothing of it counts."""
    first = len(list(opened(tmp_path / "index", log).writes()))
    (tmp_path / "index" / "index.json").unlink()
    assert len(list(opened(tmp_path / "index", log).writes())) == first


def test_without_the_extra(tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the extra; a large log without an index is read, and a warning names the index."""
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(SimkitError, match=r"kube-simkit\[history\]"):
        LogIndex(tmp_path / "index", log)
    monkeypatch.setattr(reconstruction, "_LARGE", 10)
    log.write_bytes(log.read_bytes().rpartition(b"\n")[0])
    with pytest.warns(UserWarning, match="--index FOLDER"):
        history(audit_log=log)


def test_the_command_asks_an_index(tmp_path: Path, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The log is named once; later questions need the folder alone."""
    words = ["history", "changes", "-o", "json", "--index", str(tmp_path / "index")]
    with warnings.catch_warnings(action="ignore"):
        assert main([*words, "--audit-log", str(log)]) == 0
        first = capsys.readouterr().out
        assert main(words) == 0
    assert capsys.readouterr().out == first
