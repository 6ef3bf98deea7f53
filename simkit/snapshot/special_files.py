"""Sources that are no ordinary files: pipes, which can be read once, and devices and sockets, which are refused."""

from __future__ import annotations

import os
import select
import stat
from pathlib import Path
from typing import Final

from simkit.meta.errors import SimkitError

SILENCE: Final = 300.0
"""Seconds for which nothing may come out of a pipe."""
_AT_ONCE: Final = 1024 * 1024


def content_of_special(path: Path, most: int) -> bytes | None:
    """The content of a pipe or a terminal; None for an ordinary file or a folder.

    Parameters
    ----------
    most
        The most bytes of a pipe.

    Raises
    ------
    SimkitError
        For other devices and for sockets, for a pipe that nobody writes into for five minutes, and for one from which
        too much comes.

    Examples
    --------
    >>> content_of_special(Path("/dev/null"), 1)
    b''
    """
    mode = path.stat().st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return None
    if stat.S_ISFIFO(mode):
        return _drained(path, most)
    if stat.S_ISCHR(mode) and (path.samefile(os.devnull) or _is_terminal(path)):
        return path.read_bytes()
    raise SimkitError(f"{path} is a {'socket' if stat.S_ISSOCK(mode) else 'device'}; give a file, a folder or a pipe")


def _is_terminal(path: Path) -> bool:
    with path.open("rb", buffering=0) as opened:
        return opened.isatty()


def _drained(path: Path, most: int) -> bytes:
    """All that is written into a pipe. It is opened without waiting for a writer."""
    found, descriptor = bytearray(), os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        while True:
            ready, _, _ = select.select([descriptor], [], [], SILENCE)
            if not ready:
                raise SimkitError(f"nobody has written into {path} for {SILENCE:.0f} seconds")
            part = os.read(descriptor, _AT_ONCE)
            if not part:
                return bytes(found)
            found += part
            if len(found) > most:
                raise SimkitError(f"more than {most:,} bytes come out of {path}; write them into a file first")
    finally:
        os.close(descriptor)
