"""Audit logs that are longer than the memory of the machine."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path
from typing import Any

import orjson
import pytest

from simkit.analysis.audit_log.events import read_events
from simkit.analysis.audit_log.requests import recorded_requests
from simkit.analysis.least_privilege.audit_events import read_access_requests
from simkit.meta.errors import SimkitError

pytestmark = pytest.mark.slow


def event(number: int, **more: Any) -> dict[str, Any]:
    """An event of a request for a pod."""
    return {
        "kind": "Event",
        "auditID": f"id-{number}",
        "stage": "ResponseComplete",
        "verb": "get",
        "requestURI": f"/api/v1/namespaces/dev/pods/p-{number}",
        "user": {"username": "ann"},
        "objectRef": {"resource": "pods", "namespace": "dev", "name": f"p-{number}", "apiVersion": "v1"},
        "annotations": {"padding": "x" * 500},
        **more,
    }


@pytest.mark.parametrize("packed", [False, True])
def test_one_line_is_held_at_a_time(tmp_path: Path, packed: bool) -> None:
    """The memory that reading takes does not depend on how long the log is."""
    lines = b"".join(orjson.dumps(event(number)) + b"\n" for number in range(20_000))
    path = tmp_path / "audit.log"
    path.write_bytes(gzip.compress(lines, 1) if packed else lines)
    tracemalloc.start()
    count = sum(1 for _ in read_events(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 20_000
    assert peak < len(lines) / 10


def test_a_document_over_several_lines_is_read_whole(tmp_path: Path) -> None:
    """An EventList that was printed with indentation has its events."""
    path = tmp_path / "events.json"
    document = {"kind": "EventList", "items": [event(1), event(2)]}
    path.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2))
    assert [each["auditID"] for each in read_events(path)] == ["id-1", "id-2"]


@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize("first", [b"", b"\n\n", b'{"kind": "Event", "auditID": "cut o\n', b"2026-11-21T03:41:46Z "])
def test_beginnings_of_files(tmp_path: Path, first: bytes, end: bytes) -> None:
    """Empty lines, a line that was cut off and time stamps do not hide the events after them."""
    path = tmp_path / "audit.log"
    path.write_bytes(first + orjson.dumps(event(1)) + b"\n" + orjson.dumps(event(2)) + end)
    if b"cut" in first:
        with pytest.warns(UserWarning, match="1 line of an audit log breaks off"):
            found = list(read_events(path))
    else:
        found = list(read_events(path))
    assert [each["auditID"] for each in found] == ["id-1", "id-2"]


def test_a_packed_log_that_breaks_off_is_named(tmp_path: Path) -> None:
    """An archive whose end is missing is reported."""
    path = tmp_path / "audit.log.gz"
    path.write_bytes(gzip.compress(b"".join(orjson.dumps(event(number)) + b"\n" for number in range(500)))[:-20])
    with pytest.raises(SimkitError, match=r"audit\.log\.gz cannot be read"):
        list(read_events(path))


def test_a_request_counts_once_and_requests_that_share_an_id_count_each() -> None:
    """Stages of one request are joined; a client that gives all its requests one audit id hides none of them."""
    stages = [event(1, stage=stage) for stage in ("RequestReceived", "ResponseStarted", "ResponseComplete")]
    shared = [event(2), event(2, requestURI="/api/v1/namespaces/dev/pods/other"), event(2, user={"username": "bob"})]
    assert len(list(read_access_requests([*stages, *shared]))) == 4
    assert len(list(recorded_requests([*stages, *shared]))) == 4


@pytest.mark.parametrize(
    "wrong",
    [
        {"user": 5},
        {"user": {"username": "ann", "groups": True}},
        {"impersonatedUser": {"username": "bob", "extra": {"scope": "x"}}},
        {"objectRef": {"resource": "pods", "name": {"a": 1}}},
        {"objectRef": ["pods"]},
        {"annotations": [None]},
        {"responseStatus": [None]},
    ],
)
def test_events_with_fields_of_wrong_types_are_left_out(wrong: dict[str, Any]) -> None:
    """They are counted in a warning, and the others are read."""
    field = next(iter(wrong))
    for read in (read_events, recorded_requests, read_access_requests):
        with pytest.warns(UserWarning, match=f"1 event of an audit log was left out: .* such as {field}"):
            assert len(list(read([event(1), event(2, **wrong)]))) == 1


def test_entries_of_cloud_logging_without_a_payload_object_are_no_events() -> None:
    """A payload of another type is passed over."""
    assert list(read_events([{"protoPayload": 5}])) == []
