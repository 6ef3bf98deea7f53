"""The texts of a source: files, folders, archives, compressed or not, recognized by content."""

from __future__ import annotations

import io
import os
import re
import stat
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from textwrap import dedent
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

from simkit.meta.errors import SimkitError
from simkit.meta.tar_archives import DAMAGES, TarArchive
from simkit.present.escaping import readable_path
from simkit.snapshot.etcd.backup import is_backup, read_backup
from simkit.snapshot.layouts import layout_of
from simkit.snapshot.report import Report, Weight
from simkit.snapshot.special_files import content_of_special
from simkit.snapshot.unpacking import DEFAULT_LIMITS, Limits, Unpacking

SUFFIXES: Final = frozenset((".json", ".yaml", ".yml", ".jsonl", ".ndjson", ".gz", ".tgz", ".tar", ".list", ""))
"""Suffixes of the files that are read from folders and archives. A file that is named itself is always read."""
_INDENTED: Final = re.compile(r"\s*\n[ \t]+\S|[ \t]+\S")
"""Indented text, as in code, whose separator lines are indented too."""
_GZIP: Final = b"\x1f\x8b"
_MOST_FOLDERS: Final = 5
"""The hidden folders that are named."""
_TAR_AT: Final = 257
_TAR: Final = b"ustar"
_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))

P = TypeVar("P", bound=PurePath)


@runtime_checkable
class Readable(Protocol):
    """An open file, of text or of bytes."""

    def read(self) -> str | bytes: ...


@dataclass(frozen=True, slots=True)
class Piece:
    """One text or one decoded value, with its name in reports."""

    file: str
    content: str | Mapping[str, Any]

    @property
    def size(self) -> int:
        return len(self.content) if isinstance(self.content, str) else 0


Source = str | Path | bytes | Mapping[str, Any] | Readable | Piece | Iterable[Any]
"""A path, text, bytes, an open file, a decoded object or list, text with a name for reports, or several of these."""


def pieces(source: Any, report: Report, limits: Limits = DEFAULT_LIMITS, *, release: str = "1.30") -> Iterator[Piece]:
    """Every text and decoded value of a source, in a fixed order: folders by path, archives as they are packed.

    Links of a folder that lead out of it are not followed.

    Raises
    ------
    SimkitError
        For a path at which there is nothing, and for values that are no source.
    """
    yield from _pieces(source, Unpacking(report, limits, release))


def _pieces(source: Any, unpacking: Unpacking) -> Iterator[Piece]:
    if isinstance(source, Piece):
        yield source
    elif isinstance(source, Mapping):
        yield Piece("the given object", source)
    elif isinstance(source, str) and is_text(source):
        yield Piece("the given text", dedent(source) if _INDENTED.match(source) else source)
    elif isinstance(source, str | Path):
        yield from _from_path(Path(os.path.expanduser(source)), unpacking)
    elif isinstance(source, bytes):
        yield from _from_bytes("the given bytes", source, unpacking)
    elif isinstance(source, Readable):
        yield from _from_file(source, unpacking)
    elif isinstance(source, Iterable):
        for each in source:
            yield from _pieces(each, unpacking)
    else:
        raise SimkitError(f"cannot load from {type(source).__name__}; give a path, text, an open file or objects")


def is_text(source: str) -> bool:
    """True for text rather than a path: it has lines, or begins like JSON, or is empty."""
    looks = "\n" in source or source.lstrip()[:1] in ("{", "[", "") or source.startswith("apiVersion:")
    return looks and not os.path.exists(source)


def _from_file(source: Readable, unpacking: Unpacking) -> Iterator[Piece]:
    name = str(getattr(source, "name", "the given file"))
    content = source.read()
    if isinstance(content, str):
        yield Piece(name, content)
    else:
        yield from _from_bytes(name, content, unpacking)


def _from_path(path: Path, unpacking: Unpacking) -> Iterator[Piece]:
    try:
        path.exists()
    except (ValueError, OSError) as wrong:
        raise SimkitError(f"{str(path)[:100]!r} is no path: {wrong}") from None
    special = content_of_special(path, unpacking.limits.unpacked_bytes) if path.exists() else None
    if special is not None:
        yield from _from_bytes(str(path), special, unpacking)
    elif path.exists() and is_backup(path):
        for each in read_backup(path, unpacking.report, release=unpacking.release):
            yield Piece(str(path), each)
    elif path.is_dir():
        yield from _from_folder(path, unpacking)
    elif path.exists():
        yield from _from_bytes(str(path), path.read_bytes(), unpacking)
    else:
        matches = sorted(path.parent.glob(path.name)) if any(sign in path.name for sign in "*?[") else []
        if not matches:
            raise SimkitError(f"there is nothing to load at {path}{_near(path)}")
        for match in matches:
            yield from _from_path(match, unpacking)


def _near(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"; there is no folder {folder}"
    there = sorted(each.name for each in folder.iterdir() if not each.name.startswith("."))
    shown = ", ".join(there[:5]) + (f" and {len(there) - 5} more" if len(there) > 5 else "")
    return f"; in {folder} there is {shown}" if there else f"; {folder} is empty"


def _from_folder(folder: Path, unpacking: Unpacking) -> Iterator[Piece]:
    found = sorted(path.relative_to(folder) for path in _files_in(folder, unpacking.report))
    links = [name for name in found if not (folder / name).is_file()]
    wanted = _wanted([name for name in found if name not in set(links)], str(folder), unpacking.report)
    for name in (*(one for one in links if (folder / one).is_dir()), *wanted):
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            hint = "it was left out; name the file itself to have it read"
            unpacking.report.add(readable_path(str(path)), None, "a link that leads out of the folder", hint)
        elif path.is_file():
            try:
                content = path.read_bytes()
            except OSError as error:
                _tell_unread(error, unpacking.report)
            else:
                yield from _from_bytes(str(path), content, unpacking) if is_read(name, content) else ()


def _files_in(folder: Path, report: Report) -> Iterator[Path]:
    """The files and links in a folder and in those below it. Folders that cannot be read are reported."""
    for place, folders, files in os.walk(folder, onerror=lambda error: _tell_unread(error, report)):
        for path in (Path(place, name) for name in (*folders, *files)):
            try:
                mode = path.lstat().st_mode
            except OSError as error:
                _tell_unread(error, report)
            else:
                yield from [path] if stat.S_ISREG(mode) or stat.S_ISLNK(mode) else ()


def _tell_unread(error: OSError, report: Report) -> None:
    report.add(readable_path(str(error.filename)), None, f"it cannot be read: {error.strerror}", "it was left out")


def _wanted(paths: Sequence[P], where: str, report: Report) -> list[P]:
    """The paths of the files to read; the number of others is noted."""
    layout = layout_of(paths)
    readable = [path for path in paths if (layout.holds(path) if layout else _is_wanted(path))]
    count = len(paths) - len(readable)
    if count:
        files = "1 file" if count == 1 else f"{count} files"
        why = f"hold no objects in a {layout.name}" if layout else "do not end in .json, .yaml and the like"
        hint = "name a file itself to have it read whatever its name"
        report.add(where, None, f"{files} left out that {why}", hint, weight="note")
    hidden = {path: name for path in readable if not layout and (name := _hidden_folder(path))}
    if told := sorted({*hidden.values()} - {".git"}):
        what = f"files in hidden folders were not read ({', '.join(told[:_MOST_FOLDERS])})"
        report.add(where, None, readable_path(what), "name such a folder itself to have it read", weight="changed")
    return [path for path in readable if path not in hidden]


def _is_wanted(path: PurePath) -> bool:
    return path.suffix.lower() in SUFFIXES


def _hidden_folder(path: PurePath) -> str:
    """The name of the first hidden folder above a file; empty if there is none."""
    return next((part for part in path.parts[:-1] if part.startswith(".")), "")


def is_read(path: PurePath, content: bytes) -> bool:
    """True for a file of a folder that is read: a hidden one only if it may hold objects, which kubectl applies."""
    return not path.name.startswith(".") or b"apiVersion" in content


def _from_bytes(name: str, content: bytes, unpacking: Unpacking, depth: int = 0) -> Iterator[Piece]:
    name = readable_path(name)
    is_tar = content[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR
    if not content.startswith(_GZIP) and not is_tar:
        yield Piece(name, _text(name, content, unpacking.report))
    elif unpacking.may_open(name, depth):
        opened = _from_tar if is_tar and not content.startswith(_GZIP) else _from_gzip
        yield from opened(name, content, unpacking, depth + 1)


def _from_gzip(name: str, content: bytes, unpacking: Unpacking, depth: int) -> Iterator[Piece]:
    unpacked = unpacking.gunzipped(name, content)
    if unpacked is not None:
        yield from _from_bytes(name, unpacked, unpacking, depth)


def _from_tar(name: str, content: bytes, unpacking: Unpacking, depth: int) -> Iterator[Piece]:
    members: dict[PurePath, tarfile.TarInfo] = {}
    try:
        with TarArchive.open(fileobj=io.BytesIO(content)) as archive:
            damage = _list_members(name, archive, members, unpacking.report)
            for path in _wanted(list(members), name, unpacking.report):
                member = members[path]
                stream = archive.extractfile(member)
                if stream is None or not unpacking.has_room(f"{name}/{member.name}", member.size, packed=len(content)):
                    continue
                if is_read(path, unpacked := stream.read()):
                    yield from _from_bytes(f"{name}/{member.name}", unpacked, unpacking, depth)
    except DAMAGES as error:
        damage = error
    if damage is not None:
        hint = "fetch it again; the files before the damage were read"
        unpacking.report.add(name, None, f"the archive is damaged ({damage})", hint)


def _list_members(
    name: str, archive: tarfile.TarFile, members: dict[PurePath, tarfile.TarInfo], report: Report
) -> Exception | None:
    """Note the files of an archive, in order; returns the error that ended its reading, if any."""
    try:
        for member in archive:
            path = PurePath(*(part for part in PurePath(member.name.lstrip("/")).parts if part != ".."))
            if member.issym() or member.islnk():
                weight: Weight = "lost" if _is_wanted(path) and not path.name.startswith(".") else "note"
                report.add(f"{name}/{member.name}", None, "a link in an archive", "it was left out", weight=weight)
            elif member.isfile():
                if path in members:
                    hint = "only the last one was read, as if the archive were unpacked"
                    report.add(f"{name}/{member.name}", None, "a file that is in the archive already", hint)
                members[path] = member
    except DAMAGES as error:
        return error
    return None


def _text(name: str, content: bytes, report: Report) -> str:
    """The text of a file, decoded by its byte order mark if it has one: some shells redirect output as UTF-16."""
    for mark, encoding in _BOMS:
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding, "replace")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        hint = "they were replaced by \N{REPLACEMENT CHARACTER}"
        report.add(name, line, "bytes that are not UTF-8", hint, weight="changed")
        return content.decode("utf-8", "replace")
