"""A file tree in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
        Files that are there too. Trees share them until something is written.
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
        self._files: Mapping[str, bytes | bytearray] = self._programs
        self._own: dict[str, bytes | bytearray] | None = None
        """The files, if they are those of this tree alone. One that grows is a ``bytearray``."""
        self._held = 0
        """The bytes of the files, without programs."""
        self._folders: set[str] = set(folders)
        self._links: dict[str, str] = {}
        self._mounts: dict[str, Mount] = {}
        for path, content in (given or {}).items():
            self.place(path, content.encode() if isinstance(content, str) else content)

    def mount(
        self, path: str, tree: Files | Source, *, read_only: bool = False, mark: Callable[[str], Mark] | None = None
    ) -> None:
        """Show another tree at a path, or what a function gives, which cannot be written."""
        self._mounts[resolved(path)] = Mount(tree, read_only, mark)

    def _mounted(self, known: str) -> tuple[Mount, str] | None:
        """The mounted tree that a path leads into, and the path in it."""
        for at in sorted(self._mounts, key=len, reverse=True):
            if known == at or known.startswith(at.rstrip("/") + "/"):
                return self._mounts[at], "/" + known[len(at) :].lstrip("/")
        return None

    def _all_links(self) -> Mapping[str, str]:
        """The targets of all symbolic links by path, those of mounted trees among them."""
        found = dict(self._links)
        for at, (tree, *_) in self._mounts.items():
            if isinstance(tree, Files):
                found |= {resolved(path.lstrip("/"), at): target for path, target in tree._all_links().items()}
        return found

    def real(self, path: str, *, last: bool = True) -> str:
        """The path that a path leads to through symbolic links. Raises FileError where they lead in circles.

        Parameters
        ----------
        last
            Whether the last name may be a link too.
        """
        links, known = self._all_links(), resolved(path)
        for _ in range(_MOST_LINKS if links else 0):
            parts = known.split("/")
            ends = range(2, len(parts) + last)
            linked = next((end for end in ends if "/".join(parts[:end]) in links), None)
            if linked is None:
                return known
            target = resolved(links["/".join(parts[:linked])], "/".join(parts[: linked - 1]) or "/")
            known = resolved("/".join(parts[linked:]), target)
        if links:
            raise FileError("Symbolic link loop")
        return known

    def link(self, target: str, path: str) -> None:
        """Make a symbolic link. Raises FileError where something is in its place, or nothing can be written."""
        known = self.real(path, last=False)
        if self.target(known) is not None or self.exists(known):
            raise FileError("File exists")
        inner = self._mounted(known)
        if inner is None:
            self._check_writable()
            self._check_room(known)
            self._check_folder(known)
            self._links[known] = target
        else:
            _writable(inner[0]).link(target, inner[1])

    def target(self, path: str) -> str | None:
        """The target of a symbolic link, as it was given; None for what is none."""
        return self._all_links().get(self.real(path, last=False))

    def _all_files(self) -> Iterable[str]:
        """The paths of all files, those of mounted trees among them."""
        yield from self._files
        for at, (tree, *_) in self._mounts.items():
            inside = tree._all_files() if isinstance(tree, Files) else tree()
            yield from (resolved(path.lstrip("/"), at) for path in inside)

    def _all_folders(self) -> set[str]:
        if not self._mounts:
            return self._folders
        found = set(self._folders)
        for at, (tree, *_) in self._mounts.items():
            if isinstance(tree, Files):
                found |= {resolved(path.lstrip("/"), at) for path in tree._all_folders()}
            elif "" not in tree():
                found.add(at)
        return found

    def _all_paths(self) -> Iterable[str]:
        return (*self._all_files(), *self._all_folders(), *self._all_links())

    def _file(self, known: str) -> bytes | bytearray | None:
        """The content of a file. Of what is mounted, only the tree that the path leads into is asked."""
        inner = self._mounted(known) if self._mounts else None
        if inner is None:
            return self._files.get(known)
        (tree, *_), rest = inner
        if isinstance(tree, Files):
            return tree._file(rest)
        return next((content for path, content in tree().items() if resolved(path) == rest), None)

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
        if self._mounts and (inner := self._mounted(known)) is not None:
            _writable(inner[0]).write(inner[1], content, append=append)
            return
        if self.is_folder(known):
            raise FileError("Is a directory")
        if not forced:
            self._check_writable()
        self._check_room(known)
        self._check_folder(known)
        before = self._files.get(known, b"")
        added = len(content) - (0 if append or self.is_program(known) else len(before))
        if self._held + added > MOST_BYTES:
            raise FileError("No space left on device")
        if self._own is None:
            self._files = self._own = dict(self._files)
        self._held += added
        if append and before:
            # One more part costs its own length, not that of all before it.
            grown = before if isinstance(before, bytearray) else bytearray(before)
            grown += content
            self._own[known] = grown
        else:
            self._own[known] = content

    def _check_folder(self, known: str) -> None:
        """Have the folder of a path there. Raises FileError where it is not, or is a file."""
        folder = known.rpartition("/")[0] or "/"
        if self.is_folder(folder):
            return
        if self.complete or self.is_file(folder):
            raise FileError("Not a directory" if self.is_file(folder) else "No such file or directory")
        self.make_folder(folder)

    def _check_writable(self) -> None:
        if self._read_only:
            raise FileError(_READ_ONLY)

    def _check_room(self, known: str) -> None:
        """Raise FileError for a path that is too long, or one path too many."""
        if len(known) > _LONGEST_PATH:
            raise FileError("File name too long")
        there = known in self._files or known in self._folders or known in self._links
        if not there and len(self._files) + len(self._folders) + len(self._links) >= _MOST_PATHS:
            raise FileError("No space left on device")

    def place(self, path: str, content: bytes) -> None:
        """Put a file at a path, even where what is mounted there cannot be written."""
        known = resolved(path)
        inner = self._mounted(known)
        if inner is None or isinstance(inner[0].tree, Files):
            self.make_folder(known.rpartition("/")[0] or "/", forced=True)
            self.write(known, content, forced=True)
        else:
            self._mounts[known] = Mount(lambda: {"": content})

    def make_folder(self, path: str, *, forced: bool = False) -> None:
        """Make a folder, and those that it is in. Raises FileError where nothing can be written, or a file is there."""
        known = self.real(path)
        parts = known.split("/")
        for end in range(2, len(parts) + 1):
            part = "/".join(parts[:end])
            if self.is_folder(part):
                continue
            if self.is_file(part):
                raise FileError("File exists" if part == known else "Not a directory")
            inner = self._mounted(part)
            if inner is None:
                if not forced:
                    self._check_writable()
                self._check_room(part)
                self._folders.add(part)
            else:
                _writable(inner[0]).make_folder(inner[1])

    def remove(self, path: str) -> None:
        """Remove a file, a link, or a folder with all that is in it. Raises FileError."""
        known = self.real(path, last=False)
        if self.target(known) is None and not self.exists(known):
            raise FileError("No such file or directory")
        prefix = known.rstrip("/") + "/"
        if any(at == known or at.startswith(prefix) for at in self._mounts):
            raise FileError("Resource busy")
        inner = self._mounted(known)
        if inner is not None:
            _writable(inner[0]).remove(inner[1])
            return
        self._check_writable()
        self._marks = {at: mark for at, mark in self._marks.items() if at != known and not at.startswith(prefix)}
        rest = {at: content for at, content in self._files.items() if at != known and not at.startswith(prefix)}
        gone = self._files.keys() - rest.keys()
        self._held -= sum(len(self._files[at]) for at in gone if not self.is_program(at))
        self._files = self._own = rest
        self._links = {at: target for at, target in self._links.items() if at != known and not at.startswith(prefix)}
        self._folders = {at for at in self._folders if at != known and not at.startswith(prefix)} | {"/"}

    def is_file(self, path: str) -> bool:
        """True if a file is there."""
        return self._file(self.real(path)) is not None

    def is_folder(self, path: str) -> bool:
        """True if a folder is there."""
        known = self.real(path)
        prefix = known.rstrip("/") + "/"
        if any(at.startswith(prefix) for at in self._mounts):
            return True
        inner = self._mounted(known) if self._mounts else None
        if inner is None:
            return known in self._folders
        (tree, *_), rest = inner
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
        prefix = self.real(path).rstrip("/") + "/"
        inside = (at[len(prefix) :] for at in self._all_paths() if at.startswith(prefix))
        return sorted({name.partition("/")[0] for name in inside if name})

    def tree(self, path: str) -> list[str]:
        """The paths of a folder and of all that is below it, in order. Links are not followed."""
        known = resolved(path)
        prefix = known.rstrip("/") + "/"
        found = {known}
        for at in self._all_paths():
            if at.startswith(prefix):
                parts = at[len(prefix) :].split("/")
                found |= {prefix + "/".join(parts[: end + 1]) for end in range(len(parts))}
        return sorted(found)

    def mark(self, path: str) -> Mark:
        """The mode, the owner and the time of what is at a path."""
        known = self.real(path)
        inner = self._mounted(known) if self._mounts else None
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
        found = self._files.get(known)
        return found is not None and found is self._programs.get(known) and self._mounted(known) is None

    def set_mark(self, path: str, mark: Mark) -> None:
        """Change the mode, the owner and the time of what is at a path. Raises FileError where that cannot be."""
        known = self.real(path)
        inner = self._mounted(known) if self._mounts else None
        if inner is not None:
            _writable(inner[0]).set_mark(inner[1], mark)
            return
        self._check_writable()
        self._marks[known] = mark

    def is_read_only(self, path: str) -> bool:
        """True where nothing can be written."""
        inner = self._mounted(self.real(path)) if self._mounts else None
        if inner is None:
            return self._read_only
        mount, rest = inner
        return mount.read_only or not isinstance(mount.tree, Files) or mount.tree.is_read_only(rest)


def _writable(mount: Mount) -> Files:
    """A tree that can be written. Raises FileError for another."""
    if mount.read_only or not isinstance(mount.tree, Files):
        raise FileError(_READ_ONLY)
    return mount.tree
