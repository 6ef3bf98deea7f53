"""A file tree in memory."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Final

MOST_BYTES: Final = 64 * 1024 * 1024
"""Bytes that the files of one container may have together."""


class FileError(Exception):
    """A path that is not there, or is no file. The text is that of the C library."""


class Files:
    """Files by absolute path. Folders are there as long as somebody made them or something is in them.

    Examples
    --------
    >>> files = Files({"/etc/motd": b"hello"})
    >>> files.read("/etc/../etc/motd"), files.listed("/etc")
    (b'hello', ['motd'])
    """

    def __init__(self, given: Mapping[str, bytes | str] | None = None) -> None:
        self._files: dict[str, bytes] = {}
        self._folders: set[str] = {"/", "/tmp"}  # noqa: S108 - a path of the container
        for path, content in (given or {}).items():
            self.write(path, content.encode() if isinstance(content, str) else content)

    def fork(self) -> Files:
        """An independent copy."""
        copy = Files()
        copy._files, copy._folders = dict(self._files), set(self._folders)
        return copy

    def read(self, path: str) -> bytes:
        """The content of a file. Raises FileError."""
        known = resolved(path)
        if known in self._files:
            return self._files[known]
        raise FileError("Is a directory" if self.is_folder(path) else "No such file or directory")

    def write(self, path: str, content: bytes, *, append: bool = False) -> None:
        """Write a file. Raises FileError where a folder is in its place, or the tree is full."""
        known = resolved(path)
        if self.is_folder(known):
            raise FileError("Is a directory")
        content = self._files.get(known, b"") + content if append else content
        others = sum(map(len, self._files.values())) - len(self._files.get(known, b""))
        if others + len(content) > MOST_BYTES:
            raise FileError("No space left on device")
        self._files[known] = content

    def make_folder(self, path: str) -> None:
        """Make a folder, and those that it is in."""
        self._folders.add(resolved(path))

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it. Raises FileError."""
        known = resolved(path)
        if not self.exists(known):
            raise FileError("No such file or directory")
        prefix = known.rstrip("/") + "/"
        self._files = {at: content for at, content in self._files.items() if at != known and not at.startswith(prefix)}
        self._folders = {at for at in self._folders if at != known and not at.startswith(prefix)} | {"/"}

    def is_file(self, path: str) -> bool:
        """True if a file is there."""
        return resolved(path) in self._files

    def is_folder(self, path: str) -> bool:
        """True if a folder is there."""
        known = resolved(path)
        prefix = known.rstrip("/") + "/"
        return known in self._folders or any(at.startswith(prefix) for at in (*self._files, *self._folders))

    def exists(self, path: str) -> bool:
        """True if anything is there."""
        return self.is_file(path) or self.is_folder(path)

    def listed(self, path: str) -> list[str]:
        """The names in a folder, or the path itself for a file. Raises FileError."""
        if self.is_file(path):
            return [path]
        if not self.is_folder(path):
            raise FileError("No such file or directory")
        prefix = resolved(path).rstrip("/") + "/"
        inside = (at[len(prefix) :] for at in (*self._files, *self._folders) if at.startswith(prefix))
        return sorted({name.partition("/")[0] for name in inside if name})

    def below(self, path: str) -> list[str]:
        """The paths of all files below a folder, or of one file. Raises FileError."""
        known = resolved(path)
        if known in self._files:
            return [known]
        if not self.is_folder(known):
            raise FileError("No such file or directory")
        prefix = known.rstrip("/") + "/"
        return sorted(at for at in self._files if at.startswith(prefix))

    def packed(self, paths: Iterable[str], folder: str, moment: float) -> bytes:
        """A tar archive of files and folders, named as they were asked for, from a folder. Raises FileError."""
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for path in paths:
                root = resolved(path, folder)
                if root not in self._files:
                    entry = tarfile.TarInfo(path.strip("/") or ".")
                    entry.type, entry.mode, entry.mtime = tarfile.DIRTYPE, 0o755, int(moment)
                    archive.addfile(entry)
                for found in self.below(root):
                    inner = found[len(root) :].lstrip("/")
                    name = "/".join(part for part in (path.strip("/"), inner) if part)
                    entry = tarfile.TarInfo(name)
                    entry.size, entry.mtime, entry.mode = len(self._files[found]), int(moment), 0o644
                    archive.addfile(entry, io.BytesIO(self._files[found]))
        return made.getvalue()

    def unpack(self, data: bytes, folder: str) -> None:
        """Write the files of a tar archive into a folder. Raises FileError for what is no archive."""
        try:
            with tarfile.open(fileobj=io.BytesIO(data), mode="r:*") as archive:
                for entry in archive:
                    path = resolved(entry.name, folder)
                    if entry.isdir():
                        self.make_folder(path)
                    elif entry.isreg():
                        content = archive.extractfile(entry)
                        self.write(path, content.read(MOST_BYTES + 1) if content is not None else b"")
        except (tarfile.TarError, EOFError, OSError) as error:
            raise FileError("invalid tar magic") from error


def resolved(path: str, folder: str = "/") -> str:
    """A path without dots, from a folder.

    Examples
    --------
    >>> resolved("../b", "/a/x"), resolved("/..")
    ('/a/b', '/')
    """
    parts: list[str] = []
    for part in PurePosixPath(folder, path).parts[1:] if not path.startswith("/") else PurePosixPath(path).parts[1:]:
        if part == "..":
            parts[-1:] = []
        elif part != ".":
            parts.append(part)
    return "/" + "/".join(parts)
