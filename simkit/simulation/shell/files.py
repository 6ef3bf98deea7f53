"""A file tree in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Final, NamedTuple

from simkit.simulation.shell.paths import FILE_MODE, FOLDER_MODE, ROOT, Mark, resolved

MOST_BYTES: Final = 64 * 1024 * 1024
"""Bytes that the files of one container may have together."""
_MOST_PATHS: Final = 20_000
"""Files, folders and links that one tree may have, as a file system has only so many inodes."""
_LONGEST_PATH: Final = 4096
_MOST_LINKS: Final = 40
"""The number of symbolic links that a path may lead through."""


class FileError(Exception):
    """A path that is not there, or is no file. The text is that of the C library."""


Source = Callable[[], Mapping[str, bytes]]
"""A function for the content of a folder, by relative path, when it is asked; the empty path is a file itself."""
_READ_ONLY: Final = "Read-only file system"
_BLOCK: Final = 4096
_OWN_MODES: Final[Mapping[str, int]] = {"/tmp": 0o1777, "/var/tmp": 0o1777, "/dev/shm": 0o1777, "/root": 0o700}  # noqa: S108
"""The modes of folders that are others than usual."""


class Folder:
    """A folder in a tree: what is in it stands under paths of its own."""


_FOLDER: Final = Folder()
Entry = bytes | bytearray | str | Folder
"""What is at a path: a file, which is a ``bytearray`` if it grows, the target of a symbolic link, or a folder."""


class Mount(NamedTuple):
    """Another tree at a path."""

    tree: Files | Source
    read_only: bool = False
    mark: Callable[[str], Mark] | None = None
    """Gives the marks of what a function gives, by path."""


class Files:
    """Files by absolute path, in folders.

    Parameters
    ----------
    given
        Files that are there, with their folders.
    folders
        Folders that are there.
    programs
        Files that are there too, which several trees share.
    complete
        Whether these are all folders; else a file makes the ones that it is in, as in an image that nobody knows.
    read_only
        Whether nothing can be written, but for what is mounted.
    born
        The time of files of which none is known, in seconds since the epoch.

    Notes
    -----
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

    def __init__(
        self,
        given: Mapping[str, bytes | str] | None = None,
        folders: Iterable[str] = ROOT,
        *,
        programs: Mapping[str, bytes] | None = None,
        complete: bool = True,
        read_only: bool = False,
        born: float = 0.0,
    ) -> None:
        self.complete, self._read_only, self._born = complete, read_only, born
        self._marks: dict[str, Mark] = {}
        self._programs = programs or {}
        self._own: dict[str, Entry | None] = dict.fromkeys(folders, _FOLDER)
        """What was written or made by path, and None for programs that were removed."""
        self._held = 0
        """The bytes of the files, without programs."""
        self._mounts: dict[str, Mount] = {}
        """What is mounted, longer paths first."""
        self._above: set[str] = set()
        """The folders in which something is mounted."""
        self._linked = False
        """Whether there has been a symbolic link."""
        for path, content in (given or {}).items():
            self.place(path, content.encode() if isinstance(content, str) else content)

    def mount(
        self, path: str, tree: Files | Source, *, read_only: bool = False, mark: Callable[[str], Mark] | None = None
    ) -> None:
        """Show another tree at a path, or what a function gives, which cannot be written."""
        found = {**self._mounts, resolved(path): Mount(tree, read_only, mark)}
        self._mounts = dict(sorted(found.items(), key=lambda item: -len(item[0])))
        parts = [at.split("/") for at in self._mounts]
        self._above = {"/".join(each[:end]) or "/" for each in parts for end in range(1, len(each))} - {*self._mounts}

    def _mounted(self, known: str) -> tuple[Mount, str] | None:
        """The mounted tree that a path leads into, and the path in it."""
        for at, mount in self._mounts.items():
            if known.startswith(at) and (known == at or at == "/" or known[len(at)] == "/"):
                return mount, "/" + known[len(at) :].lstrip("/")
        return None

    def _holder(self, known: str, *, forced: bool = False) -> tuple[Files, str]:
        """The tree that is changed at a path, and the path in it. Raises FileError where nothing can be written."""
        inner = self._mounted(known)
        if inner is None:
            if self._read_only and not forced:
                raise FileError(_READ_ONLY)
            return self, known
        (tree, read_only, _), rest = inner
        if read_only or not isinstance(tree, Files):
            raise FileError(_READ_ONLY)
        return tree._holder(rest)

    def _entry(self, known: str) -> Entry | None:
        """What is at a path, without following it; None for nothing. Of what is mounted, only one tree is asked."""
        if known in self._above:
            return _FOLDER
        inner = self._mounted(known)
        if inner is not None:
            (tree, *_), rest = inner
            return tree._entry(rest) if isinstance(tree, Files) else _given(tree(), rest)
        return self._own.get(known, self._programs.get(known))

    def _file(self, known: str) -> bytes | bytearray | None:
        found = self._entry(known)
        return found if isinstance(found, bytes | bytearray) else None

    def _below(self, prefix: str) -> Iterator[str]:
        """The paths that begin with a prefix, those of mounted trees among them."""
        hidden = tuple(f"{at.rstrip('/')}/" for at in self._mounts)
        for path in chain(self._own, self._programs):
            if path.startswith(prefix) and not path.startswith(hidden) and self._own.get(path, b"") is not None:
                yield path
        for at, (tree, *_) in self._mounts.items():
            inside = tree._below("/") if isinstance(tree, Files) else tree()
            mounted = (at, *(resolved(path.lstrip("/"), at) for path in inside))
            yield from (path for path in mounted if path.startswith(prefix))

    def _has_links(self) -> bool:
        return self._linked or any(isinstance(tree, Files) and tree._has_links() for tree, *_ in self._mounts.values())

    def real(self, path: str, *, last: bool = True) -> str:
        """The path that a path leads to through symbolic links. Raises FileError where they lead in circles.

        Parameters
        ----------
        last
            Whether the last name may be a link too.
        """
        known = resolved(path)
        if not self._has_links():
            return known
        for _ in range(_MOST_LINKS):
            parts = known.split("/")
            for end in range(2, len(parts) + last):
                target = self._entry("/".join(parts[:end]))
                if isinstance(target, str):
                    known = resolved("/".join(parts[end:]), resolved(target, "/".join(parts[: end - 1]) or "/"))
                    break
            else:
                return known
        raise FileError("Symbolic link loop")

    def link(self, target: str, path: str) -> None:
        """Make a symbolic link. Raises FileError where something is in its place, or nothing can be written."""
        known = self.real(path, last=False)
        if self._entry(known) is not None:
            raise FileError("File exists")
        tree, at = self._holder(known)
        tree._check_room(at)
        tree._check_folder(at)
        tree._own[at], tree._linked = target, True

    def target(self, path: str) -> str | None:
        """The target of a symbolic link, as it was given; None for what is none."""
        found = self._entry(self.real(path, last=False))
        return found if isinstance(found, str) else None

    def size(self, path: str) -> int:
        """The bytes of a file; of a folder those of a block of a disk."""
        found = self._file(self.real(path))
        return _BLOCK if found is None else len(found)

    def read(self, path: str) -> bytes:
        """The content of a file. Raises FileError."""
        found = self._file(self.real(path))
        if found is not None:
            return bytes(found)
        raise FileError("Is a directory" if self.is_folder(path) else "No such file or directory")

    def write(self, path: str, content: bytes, *, append: bool = False, forced: bool = False) -> None:
        """Write a file; ``forced`` also where nothing can be written.

        Raises FileError where a folder is in its place, or the tree is full or cannot be written.
        """
        known = self.real(path)
        if self.is_folder(known):
            raise FileError("Is a directory")
        tree, at = self._holder(known, forced=forced)
        tree._check_room(at)
        tree._check_folder(at)
        before = tree._file(at) or b""
        added = len(content) - (0 if append or tree.is_program(at) else len(before))
        if tree._held + added > MOST_BYTES:
            raise FileError("No space left on device")
        tree._held += added
        if append and before:
            # One more part costs its own length, not that of all before it.
            grown = before if isinstance(before, bytearray) else bytearray(before)
            grown += content
            tree._own[at] = grown
        else:
            tree._own[at] = content

    def _check_folder(self, known: str) -> None:
        """Have the folder of a path there. Raises FileError where it is not, or is a file."""
        folder = known.rpartition("/")[0] or "/"
        if self.is_folder(folder):
            return
        if self.complete or self.is_file(folder):
            raise FileError("Not a directory" if self.is_file(folder) else "No such file or directory")
        self.make_folder(folder)

    def _check_room(self, known: str) -> None:
        """Raise FileError for a path that is too long, or one path too many."""
        if len(known) > _LONGEST_PATH:
            raise FileError("File name too long")
        if self._entry(known) is None and len(self._programs) + len(self._own) >= _MOST_PATHS:
            raise FileError("No space left on device")

    def place(self, path: str, content: bytes) -> None:
        """Put a file at a path, even where what is mounted there cannot be written."""
        known = resolved(path)
        inner = self._mounted(known)
        if inner is None or isinstance(inner[0].tree, Files):
            self.make_folder(known.rpartition("/")[0] or "/", forced=True)
            self.write(known, content, forced=True)
        else:
            self.mount(known, lambda: {"": content})

    def make_folder(self, path: str, *, forced: bool = False) -> None:
        """Make a folder, and those that it is in. Raises FileError where nothing can be written, or a file is there."""
        known = self.real(path)
        parts = known.split("/")
        for end in range(2, len(parts) + 1):
            part = "/".join(parts[:end])
            found = self._entry(part)
            if isinstance(found, Folder):
                continue
            if found is not None:
                raise FileError("File exists" if part == known else "Not a directory")
            tree, at = self._holder(part, forced=forced)
            tree._check_room(at)
            tree._own[at] = _FOLDER

    def remove(self, path: str) -> None:
        """Remove a file, a link, or a folder with all that is in it. Raises FileError."""
        known = self.real(path, last=False)
        if self._entry(known) is None:
            raise FileError("No such file or directory")
        prefix = known.rstrip("/") + "/"
        if any(at == known or at.startswith(prefix) for at in self._mounts):
            raise FileError("Resource busy")
        tree, top = self._holder(known)
        for at in {top, *tree._below(top.rstrip("/") + "/")}:
            tree._marks.pop(at, None)
            gone = tree._own.pop(at, None)
            tree._held -= len(gone) if isinstance(gone, bytes | bytearray) else 0
            if at in tree._programs:
                tree._own[at] = None
        tree._own["/"] = _FOLDER

    def is_file(self, path: str) -> bool:
        """True if a file is there."""
        return self._file(self.real(path)) is not None

    def is_folder(self, path: str) -> bool:
        """True if a folder is there."""
        return isinstance(self._entry(self.real(path)), Folder)

    def exists(self, path: str) -> bool:
        """True if anything is there."""
        return self._entry(self.real(path)) is not None

    def listed(self, path: str) -> list[str]:
        """The names in a folder, or the path itself for a file. Raises FileError."""
        if self.is_file(path):
            return [path]
        if not self.is_folder(path):
            raise FileError("No such file or directory")
        prefix = self.real(path).rstrip("/") + "/"
        return sorted({at[len(prefix) :].partition("/")[0] for at in self._below(prefix)} - {""})

    def tree(self, path: str) -> list[str]:
        """The paths of a folder and of all that is below it, in order. Links are not followed."""
        known = resolved(path)
        prefix = known.rstrip("/") + "/"
        found = {known}
        for at in self._below(prefix):
            parts = at[len(prefix) :].split("/")
            found |= {prefix + "/".join(parts[: end + 1]) for end in range(len(parts))}
        return sorted(found)

    def mark(self, path: str) -> Mark:
        """The mode, the owner and the time of what is at a path."""
        known = self.real(path)
        inner = self._mounted(known)
        if inner is None:
            return self._marks.get(known) or self._usual_mark(known)
        mount, rest = inner
        if isinstance(mount.tree, Files):
            return mount.tree.mark(rest)
        return self._usual_mark(known) if mount.mark is None else mount.mark(rest)

    def _usual_mark(self, known: str) -> Mark:
        if self.is_program(known) or self.is_folder(known):
            return Mark(_OWN_MODES.get(known, FOLDER_MODE), time=self._born)
        return Mark(FILE_MODE, time=self._born)

    def is_program(self, path: str) -> bool:
        """True for one of the programs that were there at first, as it was."""
        known = self.real(path)
        return known in self._programs and known not in self._own and self._mounted(known) is None

    def set_mark(self, path: str, mark: Mark) -> None:
        """Change the mode, the owner and the time of what is at a path. Raises FileError where that cannot be."""
        tree, at = self._holder(self.real(path))
        tree._marks[at] = mark

    def is_read_only(self, path: str) -> bool:
        """True where nothing can be written."""
        inner = self._mounted(self.real(path))
        if inner is None:
            return self._read_only
        mount, rest = inner
        return mount.read_only or not isinstance(mount.tree, Files) or mount.tree.is_read_only(rest)


def _given(content: Mapping[str, bytes], path: str) -> Entry | None:
    """What is at a path in what a function gives."""
    found = {resolved(each): file for each, file in content.items()}
    if path in found:
        return found[path]
    below = path.rstrip("/") + "/"
    return _FOLDER if path == "/" or any(each.startswith(below) for each in found) else None
