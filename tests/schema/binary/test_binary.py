"""The binary form against objects of the API's own package with every field set."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.meta.names import GroupVersionKind
from simkit.schema.binary import decode, encode, has_binary_form, watch_frame
from simkit.schema.binary.codec import Unfit
from simkit.schema.binary.messages import MessagePool
from tests.shared import SHARED, needs_shared

FOLDER = SHARED / "datasets" / "public" / "api-objects"


def samples() -> list[Path]:
    """The recorded objects, as their binary files. A WatchEvent is never enveloped on the wire."""
    return sorted(path for path in FOLDER.glob("*.pb") if "WatchEvent" not in path.stem)


@needs_shared
@pytest.mark.parametrize("path", samples(), ids=lambda path: path.stem)
def test_every_object_round_trips(path: Path) -> None:
    """A recorded message decodes to the recorded JSON, and that encodes to the same bytes."""
    recorded = path.read_bytes()
    expected = orjson.loads(path.with_suffix(".json").read_bytes())
    assert decode(recorded) == expected
    assert encode(expected) == recorded


def test_wrong_prefix_is_refused() -> None:
    """A body without the four bytes in front is no message."""
    with pytest.raises(Unfit, match="prefix"):
        decode(b"json")


def test_custom_kinds_have_no_binary_form() -> None:
    """Only kinds of the release can be written as protobuf."""
    assert not has_binary_form(GroupVersionKind("example.com", "v1", "Gadget"))
    assert has_binary_form(GroupVersionKind("", "v1", "PodList"))


def test_watch_frame_starts_with_its_length() -> None:
    """A frame is four bytes of length and as many bytes of event."""
    frame = watch_frame("ADDED", {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}})
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    assert frame[4:11] == b"\x0a\x05ADDED"


WHOLE = encode(
    {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "a", "labels": {"a": "b"}, "creationTimestamp": "2024-01-01T00:00:00Z"},
        "spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}}, "ports": [{"containerPort": 1}]}]},
    }
)


@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(4, len(WHOLE) - 1), st.binary(max_size=3)), min_size=1, max_size=6))
def test_broken_messages_are_refused_or_read(changes: list[tuple[int, bytes]]) -> None:
    """Bytes changed, lost and added at random: what can still be read is an object of JSON values."""
    body = WHOLE
    for place, put in changes:
        body = body[:place] + put + body[place + 1 :]
    try:
        found = decode(body)
    except Unfit:
        return
    assert orjson.loads(orjson.dumps(found)) == found


def test_texts_that_are_no_text() -> None:
    """Bytes in a text that are no UTF-8 become replacement characters, as in JSON."""
    body = encode({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "abc"}}).replace(b"abc", b"a\xffc")
    assert decode(body)["metadata"]["name"] == "a\ufffdc"


def test_threads_that_ask_first_at_the_same_time() -> None:
    """None of them finds a package that another has begun to add and not finished."""
    interval, failed = sys.getswitchinterval(), list[Exception]()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            packages = {f"p{n}": {"M": {"next": f"1 p{n + 1}.M" if n < 40 else "1 string"}} for n in range(41)}
            pool = MessagePool(packages)
            threads = [threading.Thread(target=_ask, args=(pool, failed)) for _ in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failed


def _ask(pool: MessagePool, failed: list[Exception]) -> None:
    try:
        pool.message_class("p0.M")
    except (KeyError, TypeError) as error:
        failed.append(error)
