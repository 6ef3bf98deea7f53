"""Files that are written as a whole or not at all.

The content goes into a new file beside the target, which then takes its place: a full disk or the end of the process
leaves what was there. A link at the place of the target is replaced and not followed, since whoever made the folder,
such as a checkout of somebody's change, may have made it lead anywhere.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

from simkit.meta.errors import SimkitError

PRIVATE: Final = 0o600
"""The mode of files that may hold secrets: only their owner reads and writes them."""
_NEW: Final = 0o666
_OPEN_FILES: Final = "/proc/"


def home_folder() -> Path:
    """The home folder of this user. Raises SimkitError where there is none, as for the users of many containers."""
    try:
        return Path.home()
    except RuntimeError:
        raise SimkitError("this user has no home folder; name a folder for files by HOME or an option") from None


def write_whole(target: str | Path, content: str | bytes, *, mode: int | None = None) -> Path:
    """The path of a file that holds the content, texts in UTF-8; folders on the way are made.

    Parameters
    ----------
    mode
        The permissions of the file from its first byte on. Left out: those of the file that it replaces, or for a
        new file what the process gives to new files.

    Raises
    ------
    OSError
        Where it cannot be written, with the path.

    Notes
    -----
    Pipes, devices and files that the process has open already (``/dev/stdout``) are written to as they are.
    """
    path, raw = Path(target), content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        if _is_passage(path):
            path.write_bytes(raw)
        elif path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        else:
            _replace(path, raw, mode)
    except OSError as error:  # by the name that was asked for, not that of the file beside it
        raise OSError(error.errno, error.strerror, str(path)) from error
    return path


def _is_passage(path: Path) -> bool:
    """True for what takes bytes and is no file of its own: a pipe, a device, a file by its number in this process."""
    if path.exists() and not path.is_file() and not path.is_dir():
        return True
    link = os.readlink(path) if path.is_symlink() else ""
    return f"{os.path.realpath(path.parent)}/".startswith(_OPEN_FILES) or link.startswith(_OPEN_FILES)


def _replace(path: Path, content: bytes, mode: int | None) -> None:
    # 160 letters of the name, which has at most 255 bytes, are enough to know the file by.
    beside = path.with_name(f".{os.fsencode(path.name)[:160].decode(errors='ignore')}.{os.urandom(8).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(beside, flags, _NEW if mode is None else PRIVATE)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
        _settle(beside, path, mode)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _settle(made: Path, replaced: Path, mode: int | None) -> None:
    """Give a new file its permissions; where none are wanted, the owner and permissions of the file it replaces.

    A file that neither we nor the owner of its folder made, as in a folder for everybody, leaves nothing.
    """
    if mode is not None:
        made.chmod(mode)
    elif replaced.is_file() and not replaced.is_symlink():
        known, ours = replaced.stat(), made.stat().st_uid
        if known.st_uid in (ours, replaced.parent.stat().st_uid):
            if known.st_uid != ours:
                os.chown(made, known.st_uid, known.st_gid)
            made.chmod(known.st_mode & 0o777)
