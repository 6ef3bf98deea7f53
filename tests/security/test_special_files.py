"""Pipes, devices and sockets where a dump is expected: they are read once, or refused, and nothing waits for ever."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import simkit
from simkit.meta.errors import SimkitError
from simkit.snapshot import special_files
from simkit.snapshot.load import load

SPACE = b'{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}'


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A pipe with a name, into which nobody writes."""
    made = tmp_path / "dump.json"
    os.mkfifo(made)
    return made


@contextmanager
def writing(pipe: Path, content: bytes) -> Iterator[None]:
    """Somebody who writes into a pipe as soon as it is opened."""
    thread = threading.Thread(target=pipe.write_bytes, args=(content,), daemon=True)
    thread.start()
    yield
    thread.join(30)


def test_a_pipe_is_read_once_and_whole(pipe: Path) -> None:
    """As of `<(kubectl get all -o json)`: its first bytes were taken by whoever looked what it is."""
    with writing(pipe, SPACE):
        assert [each["metadata"]["name"] for each in load(pipe).objects] == ["a"]


def test_a_pipe_without_a_writer_is_not_waited_for(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To open it would wait for ever."""
    monkeypatch.setattr(special_files, "SILENCE", 0.05)
    with pytest.raises(SimkitError, match="nobody has written"):
        load(pipe)


def test_a_pipe_without_end_has_a_limit(pipe: Path) -> None:
    """The same as for what files unpack to."""
    limits = simkit.Limits(unpacked_bytes=1000)
    with writing(pipe, b"x" * 60_000), pytest.raises(SimkitError, match="more than 1,000 bytes"):
        load(pipe, limits=limits)


def test_devices_and_sockets_are_refused(tmp_path: Path) -> None:
    """Zeros without end filled all memory."""
    named = tmp_path / "zero.yaml"
    named.symlink_to("/dev/zero")
    for path in (Path("/dev/zero"), named, Path("/dev/full")):
        with pytest.raises(SimkitError, match="is a device"):
            load(path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        with pytest.raises(SimkitError, match="is a socket"):
            load(tmp_path / "s")


def test_in_a_folder_they_are_passed_over(tmp_path: Path) -> None:
    """Only files are looked at."""
    os.mkfifo(tmp_path / "a.yaml")
    (tmp_path / "b.yaml").symlink_to("/dev/zero")
    (tmp_path / "c.json").write_bytes(SPACE)
    assert len(load(tmp_path).objects) == 1
