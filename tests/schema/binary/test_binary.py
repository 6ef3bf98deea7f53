"""The binary form against objects of the API's own package with every field set."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from simkit.meta.names import GroupVersionKind
from simkit.schema.binary import decode, encode, has_binary_form, watch_frame
from simkit.schema.binary.codec import Unfit
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
