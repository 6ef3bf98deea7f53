"""The texts of the files that objects are written in: plain files, and members of archives."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from simkit.meta.tar_archives import DAMAGES, TarArchive

LARGEST_FILE = 4 * 1024 * 1024
LARGEST_ARCHIVE = 128 * 1024 * 1024
"""Bytes up to which a file is read, and bytes of all members together up to which an archive is."""
SUFFIXES = (".yaml", ".yml", ".json")


class WrittenText(NamedTuple):
    """A text and the name that a diff gives its file: in an archive, that of the member in it."""

    name: str
    text: str


def text_of(file: str) -> WrittenText:
    """The text of a YAML or JSON file, or of a member of an archive; empty for anything else.

    Examples
    --------
    >>> text_of("no-file.yaml").text
    ''
    """
    path = Path(file)
    if path.suffix.lower() not in SUFFIXES:
        return WrittenText(file, "")
    try:
        if path.is_file():
            content = path.read_bytes() if path.stat().st_size <= LARGEST_FILE else b""
            return WrittenText(file, content.decode("utf-8"))
        archive = next((one for one in path.parents if one.is_file()), None)
        if archive is None:
            return WrittenText(file, "")
        member = str(path.relative_to(archive))
        changed = archive.stat().st_mtime_ns
        return WrittenText(member, _members(archive, changed).get(member, b"").decode("utf-8"))
    except (OSError, UnicodeDecodeError):
        return WrittenText(file, "")


@lru_cache(maxsize=1)  # the remedies of a report ask for one archive many times
def _members(archive: Path, changed: int) -> dict[str, bytes]:
    """The small YAML and JSON files of an archive by name; none of what is no archive, is damaged or too large.

    ``changed`` tells an archive from a later one of the same name.
    """
    found: dict[str, bytes] = {}
    room = LARGEST_ARCHIVE
    try:
        with TarArchive.open(archive) as opened:
            for member in opened:
                room -= member.size
                if room < 0:
                    return {}
                name = Path(member.name)
                stream = opened.extractfile(member) if member.isfile() else None
                if stream is not None and name.suffix.lower() in SUFFIXES and member.size <= LARGEST_FILE:
                    found[str(name)] = stream.read()
    except DAMAGES:
        return {}
    return found
