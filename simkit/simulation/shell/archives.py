"""Tar archives of file trees, as ``kubectl cp`` sends and gets them."""

from __future__ import annotations

import bz2
import io
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Protocol

from simkit.meta.tar_archives import DAMAGES, TarArchive
from simkit.simulation.shell.files import MOST_BYTES, FileError
from simkit.simulation.shell.marks import Mark
from simkit.simulation.shell.paths import resolved
from simkit.simulation.shell.user_files import UserFiles

_MOST_UNPACKED: Final = 2 * MOST_BYTES
"""Bytes of an archive with its heads."""


class _Reader(Protocol):
    """A decompressor that gives back at most so many bytes."""

    @property
    def eof(self) -> bool: ...

    def decompress(self, data: bytes, most: int, /) -> bytes: ...


_READERS: Final[Mapping[bytes, Callable[[], _Reader]]] = {
    b"\x1f\x8b": lambda: zlib.decompressobj(zlib.MAX_WBITS | 16),
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ": lzma.LZMADecompressor,
}
"""By what compressed archives begin with."""


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
        with TarArchive.open(fileobj=io.BytesIO(_unpacked(data)), mode="r:") as archive:
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


def listed(data: bytes) -> list[str]:
    """The names in a tar archive, those of folders with a slash. Raises FileError for what is no archive."""
    try:
        with TarArchive.open(fileobj=io.BytesIO(_unpacked(data)), mode="r:") as archive:
            return [f"{entry.name}/" if entry.isdir() else entry.name for entry in archive]
    except DAMAGES as error:
        raise FileError("invalid tar magic") from error


def _mark(files: UserFiles, path: str, entry: tarfile.TarInfo, *, times: bool, owners: bool) -> None:
    """Give what was unpacked its mode, its time and its owner."""
    files.set_mode(path, entry.mode & 0o7777 if files.user.uid == 0 else entry.mode & 0o777 & ~files.umask)
    if owners and files.user.uid == 0:
        files.set_owner(path, entry.uid, entry.gid)
    if times:
        files.set_time(path, float(entry.mtime))


def _unpacked(data: bytes) -> bytes:
    """An archive that was compressed, as long as its container could hold it: a few bytes may announce terabytes."""
    reader = next((make() for magic, make in _READERS.items() if data.startswith(magic)), None)
    if reader is None:
        return data
    found = reader.decompress(data, _MOST_UNPACKED)
    if not reader.eof and len(found) == _MOST_UNPACKED:
        raise FileError("No space left on device")
    return found
