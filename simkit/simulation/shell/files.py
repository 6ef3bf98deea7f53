"""A file tree in memory."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterable, Mapping
from typing import Final

MOST_BYTES: Final = 64 * 1024 * 1024
"""Bytes that the files of one container may have together."""


class FileError(Exception):
    """A path that is not there, or is no file. The text is that of the C library."""


ROOT: Final = frozenset(
    f"/{name}"
    for name in ("", "bin", "dev", "etc", "home", "opt", "proc", "root", "sbin", "sys", "tmp", "usr", "usr/bin", "var")
)
"""The folders that each container has."""
Source = Callable[[], Mapping[str, bytes]]
"""A function for the content of a folder, by relative path, when it is asked; the empty path is a file itself."""


class Files:
    """Files by absolute path. Folders are there as long as somebody made them or something is in them.

    Other trees can be mounted: those of a volume, which several containers share, or what a function gives.

    Examples
    --------
    >>> files = Files({"/etc/motd": b"hello"})
    >>> files.read("/etc/../etc/motd"), files.listed("/etc")
    (b'hello', ['motd'])
    >>> files.mount("/config", lambda: {"key": b"value"})
    >>> files.read("/config/key"), files.listed("/config")
    (b'value', ['key'])
    """

    def __init__(self, given: Mapping[str, bytes | str] | None = None, folders: Iterable[str] = ROOT) -> None:
        self._files: dict[str, bytes] = {}
        self._folders: set[str] = set(folders)
        self._mounts: dict[str, Files | Source] = {}
        for path, content in (given or {}).items():
            self.write(path, content.encode() if isinstance(content, str) else content)

    def fork(self) -> Files:
        """An independent copy; what is mounted stays shared."""
        copy = Files()
        copy._files, copy._folders = dict(self._files), set(self._folders)
        copy._mounts = dict(self._mounts)
        return copy

    def mount(self, path: str, tree: Files | Source) -> None:
        """Show another tree at a path, or what a function gives, which cannot be written."""
        self._mounts[resolved(path)] = tree

    def _mounted(self, known: str) -> tuple[Files | Source, str] | None:
        """The mounted tree that a path leads into, and the path in it."""
        for at in sorted(self._mounts, key=len, reverse=True):
            if known == at or known.startswith(at.rstrip("/") + "/"):
                return self._mounts[at], "/" + known[len(at) :].lstrip("/")
        return None

    def _content(self) -> Mapping[str, bytes]:
        """All files by path, those of mounted trees among them."""
        if not self._mounts:
            return self._files
        found = dict(self._files)
        for at, tree in sorted(self._mounts.items()):
            inside = tree._content() if isinstance(tree, Files) else tree()
            found |= {resolved(path.lstrip("/"), at): content for path, content in inside.items()}
        return found

    def _all_folders(self) -> set[str]:
        if not self._mounts:
            return self._folders
        found = set(self._folders)
        for at, tree in self._mounts.items():
            if isinstance(tree, Files):
                found |= {resolved(path.lstrip("/"), at) for path in tree._all_folders()}
            elif "" not in tree():
                found.add(at)
        return found

    def _file(self, known: str) -> bytes | None:
        """The content of a file. Of what is mounted, only the tree that the path leads into is asked."""
        inner = self._mounted(known) if self._mounts else None
        if inner is None:
            return self._files.get(known)
        tree, rest = inner
        if isinstance(tree, Files):
            return tree._file(rest)
        return next((content for path, content in tree().items() if resolved(path) == rest), None)

    def read(self, path: str) -> bytes:
        """The content of a file. Raises FileError."""
        found = self._file(resolved(path))
        if found is not None:
            return found
        raise FileError("Is a directory" if self.is_folder(path) else "No such file or directory")

    def write(self, path: str, content: bytes, *, append: bool = False) -> None:
        """Write a file. Raises FileError where a folder is in its place, or the tree is full or cannot be written."""
        known = resolved(path)
        if self._mounts and (inner := self._mounted(known)) is not None:
            _writable(inner[0]).write(inner[1], content, append=append)
            return
        if self.is_folder(known):
            raise FileError("Is a directory")
        content = self._files.get(known, b"") + content if append else content
        others = sum(map(len, self._files.values())) - len(self._files.get(known, b""))
        if others + len(content) > MOST_BYTES:
            raise FileError("No space left on device")
        self._files[known] = content

    def place(self, path: str, content: bytes) -> None:
        """Put a file at a path, even where what is mounted there cannot be written."""
        known = resolved(path)
        inner = self._mounted(known)
        if inner is None or isinstance(inner[0], Files):
            self.write(known, content)
        else:
            self._mounts[known] = lambda: {"": content}

    def make_folder(self, path: str) -> None:
        """Make a folder, and those that it is in. Raises FileError where nothing can be written."""
        known = resolved(path)
        inner = self._mounted(known)
        if inner is None:
            self._folders.add(known)
        else:
            _writable(inner[0]).make_folder(inner[1])

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it. Raises FileError."""
        known = resolved(path)
        if not self.exists(known):
            raise FileError("No such file or directory")
        prefix = known.rstrip("/") + "/"
        if any(at == known or at.startswith(prefix) for at in self._mounts):
            raise FileError("Resource busy")
        inner = self._mounted(known)
        if inner is not None:
            _writable(inner[0]).remove(inner[1])
            return
        self._files = {at: content for at, content in self._files.items() if at != known and not at.startswith(prefix)}
        self._folders = {at for at in self._folders if at != known and not at.startswith(prefix)} | {"/"}

    def is_file(self, path: str) -> bool:
        """True if a file is there."""
        return self._file(resolved(path)) is not None

    def is_folder(self, path: str) -> bool:
        """True if a folder is there."""
        known = resolved(path)
        prefix = known.rstrip("/") + "/"
        if any(at.startswith(prefix) for at in self._mounts):
            return True
        inner = self._mounted(known) if self._mounts else None
        if inner is None:
            return known in self._folders or any(at.startswith(prefix) for at in (*self._files, *self._folders))
        tree, rest = inner
        if isinstance(tree, Files):
            return tree.is_folder(rest)
        paths, below = {resolved(path) for path in tree()}, rest.rstrip("/") + "/"
        return rest not in paths and (rest == "/" or any(path.startswith(below) for path in paths))

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
        inside = (at[len(prefix) :] for at in (*self._content(), *self._all_folders()) if at.startswith(prefix))
        return sorted({name.partition("/")[0] for name in inside if name})

    def tree(self, path: str) -> list[str]:
        """The paths of a folder and of all that is below it, in order."""
        known = resolved(path)
        prefix = known.rstrip("/") + "/"
        found = {known}
        for at in (*self._content(), *self._all_folders()):
            if at.startswith(prefix):
                parts = at[len(prefix) :].split("/")
                found |= {prefix + "/".join(parts[: end + 1]) for end in range(len(parts))}
        return sorted(found)

    def below(self, path: str) -> list[str]:
        """The paths of all files below a folder, or of one file. Raises FileError."""
        known = resolved(path)
        content = self._content()
        if known in content:
            return [known]
        if not self.is_folder(known):
            raise FileError("No such file or directory")
        prefix = known.rstrip("/") + "/"
        return sorted(at for at in content if at.startswith(prefix))

    def packed(self, paths: Iterable[str], folder: str, moment: float) -> bytes:
        """A tar archive of files and folders, named as they were asked for, from a folder. Raises FileError."""
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for path in paths:
                root = resolved(path, folder)
                if not self.is_file(root):
                    entry = tarfile.TarInfo(path.strip("/") or ".")
                    entry.type, entry.mode, entry.mtime = tarfile.DIRTYPE, 0o755, int(moment)
                    archive.addfile(entry)
                for found in self.below(root):
                    inner = found[len(root) :].lstrip("/")
                    name = "/".join(part for part in (path.strip("/"), inner) if part)
                    entry = tarfile.TarInfo(name)
                    content = self.read(found)
                    entry.size, entry.mtime, entry.mode = len(content), int(moment), 0o644
                    archive.addfile(entry, io.BytesIO(content))
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


def _writable(tree: Files | Source) -> Files:
    """A tree that can be written. Raises FileError for another."""
    if not isinstance(tree, Files):
        raise FileError("Read-only file system")
    return tree


def resolved(path: str, folder: str = "/") -> str:
    """A path without dots, from a folder.

    Examples
    --------
    >>> resolved("../b", "/a/x"), resolved("/..")
    ('/a/b', '/')
    """
    parts: list[str] = []
    for part in (path if path.startswith("/") else f"{folder}/{path}").split("/"):
        if part == "..":
            parts[-1:] = []
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)
