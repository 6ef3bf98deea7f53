"""The files of a container in a folder of this machine, for a program of this machine that runs in it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from simkit.simulation.shell.files import MOST_BYTES, FileError, Files
from simkit.simulation.shell.marks import Mark

SYSTEM_FOLDERS: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Folders that programs of the machine need as they are there."""
KERNEL_FOLDERS: Final = ("/dev", "/proc", "/sys")
_NEVER_WAITS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


class _State(NamedTuple):
    """A file as it was when it was last the same on both sides."""

    changed: int
    """The time of its last change in the folder, in nanoseconds."""
    size: int


class HostFiles:
    """The files of a container as they are now, in a temporary folder; ``pull`` takes what was written there.

    Folders of the machine's own programs are left out. Owners are not kept, and neither are devices and sockets. A file
    that is larger than all those of a container together may be is not taken.

    Parameters
    ----------
    files
        Those of the container.
    left_out
        Further paths that are not the container's.

    Notes
    -----
    The program may put a link to anything of the machine into the folder at any time. So nothing is written into the
    folder once the program runs, and no link is followed when it is read.

    Examples
    --------
    >>> files = Files({"/app/in": "1"})
    >>> host = HostFiles(files)
    >>> (host.root / "app/in").read_text()
    '1'
    >>> written = (host.root / "app/out").write_text("2")
    >>> host.pull()
    >>> host.close()
    >>> files.read("/app/out")
    b'2'
    """

    def __init__(self, files: Files, left_out: Sequence[str] = ()) -> None:
        self._files, self._left_out = files, (*SYSTEM_FOLDERS, *KERNEL_FOLDERS, *left_out)
        self._folder = TemporaryDirectory(prefix="simkit-container-", ignore_cleanup_errors=True)
        self.root = Path(self._folder.name)
        self._known: dict[str, _State | None] = {}
        """The paths that are on both sides; None for folders and links."""
        for path in files.tree("/"):
            if path != "/" and not self.is_left_out(path):
                with suppress(FileError, OSError):  # what cannot be had is not there for programs either
                    self._known[path] = self._copied(path)

    def close(self) -> None:
        """Remove the folder."""
        self._folder.cleanup()

    def is_left_out(self, path: str) -> bool:
        """True if a path is none of the container's."""
        return any(path == each or path.startswith(f"{each}/") for each in self._left_out)

    def place(self, path: str) -> Path:
        """The place of a path of the container in the folder."""
        return self.root / path.lstrip("/")

    def protected(self) -> Iterator[tuple[str, bool]]:
        """The root and the folders in which other rules hold than above them: whether nothing can be written there."""
        above: dict[str, bool] = {}
        for path in ("/", *(each for each in self._known if self._files.is_folder(each))):
            if self._files.target(path) is None:
                above[path] = self._files.is_read_only(path)
                if path == "/" or above[path] != above.get(path.rpartition("/")[0] or "/"):
                    yield path, above[path]

    def _copied(self, path: str) -> _State | None:
        """Make what is at a path in the folder. Raises FileError, or OSError."""
        place, target = self.place(path), self._files.target(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        if target is not None:
            place.symlink_to(target)
            return None
        mode = self._files.mark(path).mode
        if self._files.is_folder(path):
            place.mkdir(exist_ok=True)
            place.chmod(mode | stat.S_IRWXU)
            return None
        place.write_bytes(self._files.read(path))
        place.chmod(mode | stat.S_IRUSR)
        found = place.stat()
        return _State(found.st_mtime_ns, found.st_size)

    def pull(self) -> None:
        """Take what was written or removed in the folder since the last time."""
        seen = set[str]()
        for folder, folders, names, opened in os.fwalk(self.root):
            relative = str(Path(folder).relative_to(self.root))
            above = "" if relative == "." else f"/{relative}"
            folders[:] = [each for each in folders if not self.is_left_out(f"{above}/{each}")]
            for name in (*folders, *names):
                path = f"{above}/{name}"
                if not self.is_left_out(path):
                    seen.add(path)
                    with suppress(FileError, OSError):  # it is gone again, or cannot be written in the container
                        self._pull_one(path, name, opened)
        for path in sorted(self._known.keys() - seen, reverse=True):
            del self._known[path]
            with suppress(FileError):
                self._files.remove(path)

    def _pull_one(self, path: str, name: str, folder: int) -> None:
        """Take what is in a folder that is open. Raises FileError, or OSError."""
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        before = self._known.get(path)
        if stat.S_ISREG(found.st_mode):
            state = _State(found.st_mtime_ns, found.st_size)
            if state != before and found.st_size <= MOST_BYTES:
                self._known[path] = state
                self._files.write(path, _content(name, folder))
                own = self._files.mark(path)
                mode = stat.S_IMODE(found.st_mode)
                self._files.set_mark(path, Mark(mode, own.uid, own.gid, found.st_mtime))
        elif path not in self._known and stat.S_ISDIR(found.st_mode):
            self._known[path] = None
            self._files.make_folder(path)
        elif path not in self._known and stat.S_ISLNK(found.st_mode):
            self._known[path] = None
            self._files.link(os.readlink(name, dir_fd=folder), path)


def _content(name: str, folder: int) -> bytes:
    """The content of a file in a folder that is open. Raises OSError for a link, or what is none any more."""
    opened = os.open(name, _NEVER_WAITS, dir_fd=folder)
    with os.fdopen(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise OSError
        return file.read(MOST_BYTES)
