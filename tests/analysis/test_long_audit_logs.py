"""Audit logs that are longer than the memory of the machine."""

from __future__ import annotations

import gzip
import sys
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from simkit.analysis.audit_log.events import read_events
from simkit.analysis.audit_log.requests import recorded_requests
from simkit.analysis.least_privilege.recorded_access import read_access_requests
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


def zstd() -> Callable[[bytes], bytes]:
    """What packs with Zstandard, where that library is installed."""
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    compress: Callable[[bytes], bytes] = pytest.importorskip(name, reason="reading .zst is an extra").compress
    return compress


PACKED = pytest.mark.parametrize("packed", ["plain", "gzip", "zstd"])


def pack(content: bytes, packed: str) -> bytes:
    if packed == "plain":
        return content
    return gzip.compress(content, 1) if packed == "gzip" else zstd()(content)


@PACKED
def test_one_line_is_held_at_a_time(tmp_path: Path, packed: str) -> None:
    """The memory that reading takes does not depend on how long the log is."""
    lines = b"".join(orjson.dumps(event(number)) + b"\n" for number in range(20_000))
    path = tmp_path / "audit.log"
    path.write_bytes(pack(lines, packed))
    tracemalloc.start()
    count = sum(1 for _ in read_events(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 20_000
    assert peak < len(lines) / 10


@PACKED
def test_a_document_over_several_lines_is_read_whole(tmp_path: Path, packed: str) -> None:
    """An EventList that was printed with indentation has its events."""
    path = tmp_path / "events.json"
    document = {"kind": "EventList", "items": [event(1), event(2)]}
    path.write_bytes(pack(orjson.dumps(document, option=orjson.OPT_INDENT_2), packed))
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


@pytest.mark.parametrize("packed", ["gzip", "zstd"])
def test_a_packed_log_that_breaks_off_is_named(tmp_path: Path, packed: str) -> None:
    """An archive whose end is missing is reported."""
    path = tmp_path / "audit.log.packed"
    path.write_bytes(pack(b"".join(orjson.dumps(event(number)) + b"\n" for number in range(500)), packed)[:-20])
    with pytest.raises(SimkitError, match=r"audit\.log\.packed cannot be read: .*leave it out, or unpack"):
        list(read_events(path))


def test_a_log_packed_in_parts(tmp_path: Path) -> None:
    """Parts that were packed each on its own and put together are read one after the other."""
    path, compress = tmp_path / "audit.log.zst", zstd()
    path.write_bytes(b"".join(compress(orjson.dumps(event(number)) + b"\n") for number in range(3)))
    assert len(list(read_events(path))) == 3


def test_zstandard_without_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing is named, with the extra that brings it."""
    (tmp_path / "audit.log.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    for name in ("compression.zstd", "backports.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SimkitError, match=r"kube-simkit\[history\]"):
        list(read_events(tmp_path))


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


@pytest.mark.parametrize("depth", [900, 5000])
@pytest.mark.parametrize("left", ['{"value":', '{"message":[', '{"result":{"log":'])
def test_wrappers_that_nest_without_end(left: str, depth: int) -> None:
    """They hide no event that comes after them."""
    right = "".join({"{": "}", "[": "]"}.get(letter, "") for letter in reversed(left))
    lines = left * depth + "1" + right * depth + "\n" + orjson.dumps(event(1)).decode() + "\n"
    with warnings.catch_warnings(action="ignore"):
        assert [each["auditID"] for each in read_events(lines)] == ["id-1"]
