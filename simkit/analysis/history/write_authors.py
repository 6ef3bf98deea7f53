"""The users who wrote objects, as an audit log that grows tells them."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, Final

import orjson

from simkit.analysis.audit_log.events import well_typed
from simkit.analysis.history.timeline import writes_of
from simkit.meta.errors import SimkitError
from simkit.meta.names import Key
from simkit.meta.objects import Object

_REMEMBERED: Final = 10_000
"""The objects whose last authors are kept."""


class WriteAuthors:
    """Who wrote objects since the last question about them.

    Parameters
    ----------
    path
        The audit log of kube-apiserver, as JSON lines. It is read from its present end on, and again from the beginning
        where another file takes its place, as a rotation leaves it.
    resources
        The plurals of the resources whose writes are kept.

    Raises
    ------
    SimkitError
        For a file that cannot be read.
    """

    def __init__(self, path: str | Path, resources: Collection[str]) -> None:
        self._path, self._resources = Path(path), resources
        self._users: OrderedDict[Key, list[str]] = OrderedDict()
        self._rest = b""
        try:
            self._file: IO[bytes] = self._path.open("rb")
            self._file.seek(0, os.SEEK_END)
        except OSError as error:
            raise SimkitError(f"the audit log {path} cannot be read: {error.strerror}") from None

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def of(self, key: Key) -> str:
        """The users who wrote an object since the last call about it, empty if the log names none."""
        for event in self._news():
            for write in writes_of(well_typed([event])):
                if write.key.resource.resource in self._resources:
                    self._users.setdefault(write.key, []).append(write.author)
        while len(self._users) > _REMEMBERED:
            self._users.popitem(last=False)
        many = self._users.get(key._replace(name=""), [])  # who deleted many
        return ", ".join(dict.fromkeys(self._users.pop(key, many)))

    def _news(self) -> Iterator[Object]:
        """The events that were written since the last look; lines that are none are left out."""
        content = self._rest + self._file.read() + self._rotated()
        *lines, self._rest = content.split(b"\n")
        for line in lines:
            try:
                event = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue
            if isinstance(event, dict):
                yield event

    def _rotated(self) -> bytes:
        """The content of a file that took the place of the one that is read, or that was cut off."""
        try:
            now, known = self._path.stat(), os.fstat(self._file.fileno())
            if now.st_ino == known.st_ino and now.st_size >= self._file.tell():
                return b""
            self._file.close()
            self._file = self._path.open("rb")
        except OSError:  # between two files of a rotation
            return b""
        return self._file.read()
