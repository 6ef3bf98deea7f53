"""The files of a container as a user sees them, and their archives."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from simkit.meta.tar_archives import DAMAGES, TarArchive
from simkit.simulation.shell.files import MOST_BYTES, FileError, Files
from simkit.simulation.shell.paths import SETGID, STICKY, UMASK, Mark, resolved

# The files of a container as a user sees them: the one place where it is decided who may do what.
# References: path_resolution(7) and inode(7) of Linux.

_BITS: Final = {"r": 4, "w": 2, "x": 1}
_NULL: Final = "/dev/null"
"""The device that is empty, and takes anything."""
_DENIED: Final = "Permission denied"
_NOT_PERMITTED: Final = "Operation not permitted"


class User(NamedTuple):
    """A user with groups, by number."""

    uid: int = 0
    gid: int = 0
    groups: tuple[int, ...] = ()
    """Groups besides the first one."""

    def is_in(self, gid: int) -> bool:
        """True if the user is in a group."""
        return gid == self.gid or gid in self.groups


ROOT_USER: Final = User()


def _epoch() -> float:
    return 0.0


class UserFiles:
    """Files with a user, who may read, write and enter what modes and owners allow. Root may do all of it.

    Parameters
    ----------
    now
        Gives the time, for what is written.

    Examples
    --------
    >>> files = UserFiles(Files({"/secret": "x"}), User(1000))
    >>> files.read("/secret"), files.may("/secret", "w")
    (b'x', False)
    >>> files.write("/mine", b"")
    Traceback (most recent call last):
    ...
    simkit.simulation.shell.files.FileError: Permission denied
    """

    __slots__ = ("_now", "base", "user")

    def __init__(self, tree: Files | None = None, user: User = ROOT_USER, now: Callable[[], float] = _epoch) -> None:
        self.base, self.user, self._now = tree if tree is not None else Files(), user, now

    # Decisions

    def may(self, path: str, letters: str) -> bool:
        """True if the user may read (``r``), write (``w``) or run and enter (``x``) what is at a path."""
        if path == _NULL:
            return letters != "x"
        if not self._enters(path) or not self.base.exists(path):
            return False
        if "w" in letters and self.base.is_read_only(path):
            return False
        return self._allows(self.base.mark(path), letters, is_folder=self.base.is_folder(path))

    def _allows(self, mark: Mark, letters: str, *, is_folder: bool) -> bool:
        wanted = sum(_BITS[letter] for letter in letters)
        if self.user.uid == 0:
            return is_folder or "x" not in letters or bool(mark.mode & 0o111)
        shift = 6 if mark.uid == self.user.uid else 3 if self.user.is_in(mark.gid) else 0
        return mark.mode >> shift & wanted == wanted

    def _enters(self, path: str) -> bool:
        """True if the user may enter the folders that a path leads through."""
        if self.user.uid == 0:
            return True
        parts = self.base.real(path, last=False).split("/")[:-1]
        folders = ("/".join(parts[:end]) or "/" for end in range(1, len(parts) + 1))
        return all(self._allows(self.base.mark(each), "x", is_folder=True) for each in folders)

    def _check_entered(self, path: str) -> None:
        if not self._enters(path):
            raise FileError(_DENIED)

    def _check_parent(self, path: str, *, removes: bool = False) -> None:
        """Raise FileError where the user may add nothing to the folder of a path, or remove nothing from it."""
        self._check_entered(path)
        if self.user.uid == 0:
            return
        known = self.base.real(path, last=False)
        folder = known.rpartition("/")[0] or "/"
        while not self.base.exists(folder):
            folder = folder.rpartition("/")[0] or "/"
        mark = self.base.mark(folder)
        if self.base.is_folder(folder) and not self._allows(mark, "wx", is_folder=True):
            raise FileError(_DENIED)
        if removes and mark.mode & STICKY and self.user.uid not in (mark.uid, self.base.mark(known).uid):
            raise FileError(_NOT_PERMITTED)

    def _check_owner(self, path: str) -> None:
        self._check_entered(path)
        if self.user.uid not in (0, self.base.mark(path).uid):
            raise FileError(_NOT_PERMITTED)

    # Looks

    def is_file(self, path: str) -> bool:
        """True if a file is there."""
        return self.base.is_file(path) and self._enters(path)

    def is_program(self, path: str) -> bool:
        """True for one of the programs that an image has."""
        return self.base.is_program(path)

    def is_folder(self, path: str) -> bool:
        """True if a folder is there."""
        return self.base.is_folder(path) and self._enters(path)

    def exists(self, path: str) -> bool:
        """True if anything is there."""
        return path == _NULL or (self.base.exists(path) and self._enters(path))

    def target(self, path: str) -> str | None:
        """The target of a symbolic link, as it was given; None for what is none."""
        return self.base.target(path)

    def read(self, path: str) -> bytes:
        """The content of a file. Raises FileError."""
        if path == _NULL:
            return b""
        self._check_entered(path)
        if self.user.uid and self.base.is_file(path) and not self._allows(self.mark(path), "r", is_folder=False):
            raise FileError(_DENIED)
        return self.base.read(path)

    def size(self, path: str) -> int:
        """The bytes of a file, which needs no right to read it; of a folder those of a block of a disk."""
        return self.base.size(path)

    def listed(self, path: str) -> list[str]:
        """The names in a folder, or the path itself for a file. Raises FileError."""
        self._check_entered(path)
        if self.base.is_folder(path) and not self._allows(self.mark(path), "r", is_folder=True):
            raise FileError(_DENIED)
        return self.base.listed(path)

    def tree(self, path: str) -> list[str]:
        """The paths of a folder and of all that is below it, in order, but for what is in folders that are closed."""
        found = self.base.tree(path)
        if self.user.uid == 0:
            return found
        seen, closed = [], set[str]()
        for each in found:  # a folder comes before what is in it
            hidden = (each.rpartition("/")[0] or "/") in closed and each != "/"
            if not hidden:
                seen.append(each)
            if hidden or (self.base.target(each) is None and self.base.is_folder(each) and not self.may(each, "rx")):
                closed.add(each)
        return seen

    def mark(self, path: str) -> Mark:
        """The mode, the owner and the time of what is at a path."""
        return self.base.mark(path)

    # Changes

    def write(self, path: str, content: bytes, *, append: bool = False) -> None:
        """Write a file. Raises FileError."""
        if path == _NULL:
            return
        there = self.base.is_file(path)
        if there:
            self._check_entered(path)
            if not self._allows(self.mark(path), "w", is_folder=False):
                raise FileError(_DENIED)
        elif not self.base.is_folder(path):
            self._check_parent(self.base.real(path))
        self.base.write(path, content, append=append)
        self._stamp(path, None if there else 0o666)

    def _stamp(self, path: str, mode: int | None) -> None:
        """Note the time of a change; what is new gets a mode, and the user as its owner."""
        if mode is None:
            self.base.set_mark(path, self.base.mark(path)._replace(time=self._now()))
            return
        folder = self.base.mark(self.base.real(path).rpartition("/")[0] or "/")
        gid, mode = self.user.gid, mode & ~UMASK
        if folder.mode & SETGID:
            gid, mode = folder.gid, mode | (SETGID if self.base.is_folder(path) else 0)
        self.base.set_mark(path, Mark(mode, self.user.uid, gid, self._now()))

    def make_folder(self, path: str) -> None:
        """Make a folder, and those that it is in. Raises FileError."""
        known = self.base.real(path)
        if self.base.is_folder(known):
            return
        self._check_parent(known)
        parts = known.split("/")
        new = [each for end in range(2, len(parts) + 1) if not self.base.exists(each := "/".join(parts[:end]))]
        self.base.make_folder(known)
        for each in new:
            self._stamp(each, 0o777)

    def remove(self, path: str) -> None:
        """Remove a file, a link, or a folder with all that is in it. Raises FileError."""
        self._check_parent(path, removes=True)
        if self.user.uid and self.base.target(path) is None and self.base.is_folder(path):
            for each in self.base.tree(path)[1:]:
                self._check_parent(each, removes=True)
        self.base.remove(path)

    def link(self, target: str, path: str) -> None:
        """Make a symbolic link. Raises FileError."""
        self._check_parent(path)
        self.base.link(target, path)

    def move(self, source: str, into: str) -> None:
        """Move a file, a link or a folder, which needs no right to read it. Raises FileError."""
        self._check_parent(source, removes=True)
        self._check_parent(into, removes=self.base.exists(into))
        for found in self.base.tree(source):
            place, target = into + found[len(source) :], self.base.target(found)
            if target is not None:
                self.base.link(target, place)
                continue
            mark = self.base.mark(found)
            if self.base.is_file(found):
                self.base.write(place, self.base.read(found))
            else:
                self.base.make_folder(place)
            self.base.set_mark(place, mark)
        self.base.remove(source)

    def set_mode(self, path: str, mode: int) -> None:
        """Change a mode. Raises FileError where the user is neither the owner nor root."""
        self._check_owner(path)
        self.base.set_mark(path, self.mark(path)._replace(mode=mode))

    def set_owner(self, path: str, uid: int | None, gid: int | None) -> None:
        """Change the owner, as only root may, or the group. Raises FileError."""
        self._check_owner(path)
        mark = self.mark(path)
        gives_away = uid not in (None, mark.uid) or (gid is not None and not self.user.is_in(gid))
        if self.user.uid and gives_away:
            raise FileError(_NOT_PERMITTED)
        owner, group = mark.uid if uid is None else uid, mark.gid if gid is None else gid
        self.base.set_mark(path, mark._replace(uid=owner, gid=group))

    def set_time(self, path: str, time: float) -> None:
        """Change the time of a file. Raises FileError where the user may not write it."""
        self._check_entered(path)
        mark = self.mark(path)
        if self.user.uid not in (0, mark.uid) and not self._allows(mark, "w", is_folder=False):
            raise FileError(_DENIED)
        self.base.set_mark(path, mark._replace(time=time))


# Tar archives of file trees, as ``kubectl cp`` sends and gets them


def packed(files: UserFiles, paths: Iterable[str], folder: str) -> bytes:
    """A tar archive of files, folders and links, named as they were asked for, from a folder. Raises FileError."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in paths:
            root = resolved(path, folder)
            if files.target(root) is None and not files.exists(root):
                raise FileError("No such file or directory")
            for found in files.tree(root):
                inner = found[len(root) :].lstrip("/")
                name = "/".join(part for part in (path.strip("/"), inner) if part) or "."
                for entry, content in _entry(files, found, name):
                    archive.addfile(entry, io.BytesIO(content))
    return made.getvalue()


def _entry(files: UserFiles, path: str, name: str) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    entry, content, target = tarfile.TarInfo(name), b"", files.target(path)
    mark = files.mark(path) if target is None else Mark(0o777)
    entry.mode, entry.uid, entry.gid, entry.mtime = mark.mode, mark.uid, mark.gid, int(mark.time)
    if target is not None:
        entry.type, entry.linkname = tarfile.SYMTYPE, target
    elif files.is_file(path):
        content = files.read(path)
        entry.size = len(content)
    else:
        entry.type = tarfile.DIRTYPE
    yield entry, content


def unpack(files: UserFiles, data: bytes, folder: str, *, times: bool = True, owners: bool = True) -> None:
    """Write the content of a tar archive into a folder. Raises FileError for what is no archive.

    Parameters
    ----------
    times, owners
        Whether files get the times and, where root unpacks them, the owners that the archive has.
    """
    try:
        with TarArchive.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for entry in archive:
                path = resolved(entry.name, folder)
                files.make_folder(path.rpartition("/")[0] or "/")
                if entry.isdir():
                    files.make_folder(path)
                elif entry.issym():
                    if files.target(path) is not None:
                        files.remove(path)
                    files.link(entry.linkname, path)
                elif entry.isreg():
                    content = archive.extractfile(entry)
                    files.write(path, content.read(MOST_BYTES + 1) if content is not None else b"")
                if entry.isdir() or entry.isreg():
                    _mark(files, path, entry, times=times, owners=owners)
    except DAMAGES as error:
        raise FileError("invalid tar magic") from error


def _mark(files: UserFiles, path: str, entry: tarfile.TarInfo, *, times: bool, owners: bool) -> None:
    """Give what was unpacked its mode, its time and its owner."""
    files.set_mode(path, entry.mode & 0o7777 if files.user.uid == 0 else entry.mode & 0o777 & ~UMASK)
    if owners and files.user.uid == 0:
        files.set_owner(path, entry.uid, entry.gid)
    if times:
        files.set_time(path, float(entry.mtime))
