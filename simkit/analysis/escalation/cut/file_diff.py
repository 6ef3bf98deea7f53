"""A change as a diff of the file in which the object is written, with the comments and the order of that file."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from difflib import unified_diff
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from simkit.analysis.rbac.objects import kind_of
from simkit.language.merge.mergepatch import merge_patch
from simkit.language.yaml.complaints import BrokenText
from simkit.language.yaml.decode import decode
from simkit.language.yaml.roundtrip import rewritten
from simkit.logic.migration.documents import is_separator, pieces
from simkit.meta.names import Key
from simkit.meta.objects import Object, at
from simkit.meta.tar_archives import DAMAGES, TarArchive
from simkit.meta.visible_text import one_line
from simkit.present.escaping import patch_lines

LARGEST_DOCUMENT: Final = 256 * 1024
"""Letters up to which a document is written anew."""
LARGEST_JSON: Final = 512 * 1024
"""Letters of a JSON file up to which it is written anew as a whole."""
ITEM_DEPTH: Final = 2
"""Levels of indentation before an item of a list of objects."""
CONTEXT: Final = 3
"""Unchanged lines around a change."""
_INDENTS: Final = ("    ", "  ", "\t", " ")


def diff_of_file(file: str, line: int | None, key: Key, patch: Object | None) -> str:
    """The unified diff of a file in which an object is changed by a merge patch or, if None, goes; empty where that
    cannot be told.

    It cannot be told for JSON on one line or of an unusual form, for large documents, and where the file has changed
    since it was read. The diff of a member of an archive names the member.
    """
    name, text = text_of(file)
    if text.lstrip()[:1] in ("{", "["):
        return _diff(name, text, _changed_json(text, key, patch))
    found = list(pieces(text))
    for number, (piece, first) in enumerate(found):
        if line is not None and not first <= line <= first + piece.count("\n"):
            continue
        value = _decoded(piece)
        if value is None or _inner(value, key) is None:
            continue
        made = [each for each, _ in found]
        try:
            made[number : number + 1] = [_changed(piece, value, key, patch)]
        except BrokenText:
            return ""
        if not made[number].strip():
            del made[number]
            if 0 < number <= len(made) and is_separator(made[number - 1]):
                del made[number - 1]
        return _diff(name, text, "".join(made))
    return ""


def _decoded(piece: str) -> Object | None:
    if not piece.strip() or len(piece) > LARGEST_DOCUMENT:
        return None
    try:
        value = decode(piece)
    except BrokenText:
        return None
    return value if isinstance(value, dict) else None


def _inner(value: Object, key: Key) -> Object | None:
    """The object of a key in a document: the document itself, or an item of a list."""
    if value.get("kind") == kind_of(key):
        same = at(value, "metadata", "name") == key.name
        return value if same and (at(value, "metadata", "namespace") or key.namespace) == key.namespace else None
    items = value.get("items")
    inner = (_inner(each, key) for each in items if isinstance(each, dict)) if isinstance(items, list) else ()
    return next((each for each in inner if each is not None), None)


def _changed(piece: str, value: Object, key: Key, patch: Object | None) -> str:
    """The text of a document with the object changed or without it; empty if nothing is left."""
    made = _with_change(value, key, patch)
    return "" if made is None else rewritten(piece, made)


def _with_change(value: Object, key: Key, patch: Object | None) -> Object | None:
    """A document with the object changed or without it; None if nothing is left."""
    old = _inner(value, key)
    new = None if patch is None or old is None else merge_patch(old, patch)
    if old is value:
        return new
    items = [new if each is old else each for each in value["items"]]
    return {**value, "items": [each for each in items if each is not None]}


def _changed_json(text: str, key: Key, patch: Object | None) -> str:
    """The text of a JSON file with the object changed, or the same text where only its form could not be kept."""
    value = _parsed(text) if len(text) <= LARGEST_JSON else None
    old = None if value is None else _inner(value, key)
    if value is None or old is None:
        return text
    new = None if patch is None else merge_patch(old, patch)
    depth = 0 if old is value else ITEM_DEPTH
    for indent in _INDENTS:
        written = _as_json(old, indent, depth)
        if text.count(written) == 1:
            return text.replace(written, _as_json(new, indent, depth)) if new is not None else _without(text, written)
    return text


@lru_cache(maxsize=1)
def _parsed(text: str) -> Object | None:
    """The object in a text, kept for the next change of the same file."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _as_json(value: Object, indent: str, depth: int) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False).replace("\n", "\n" + indent * depth)


def _without(text: str, written: str) -> str:
    """A text without an item of a list, and without the comma beside it."""
    before, after = text.split(written)
    if after.startswith(","):
        return before + after[1:].lstrip()
    before = before.rstrip()
    if before.endswith(","):
        return before[:-1] + after
    return before + after.lstrip() if before.endswith("[") else ""


def _diff(name: str, before: str, after: str) -> str:
    named = one_line(name.lstrip("/"))
    old, new = patch_lines(before), patch_lines(after)
    first, last = _unchanged(old, new)
    lines = unified_diff(
        old[first : len(old) - last],
        new[first : len(new) - last],
        f"a/{named}",
        f"b/{named}" if after.strip() else "/dev/null",
    )
    moved = (_moved(each, first) if each.startswith("@@ ") else each for each in lines)
    return "".join(each if each.endswith("\n") else f"{each}\n\\ No newline at end of file\n" for each in moved)


def _unchanged(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many lines at the beginning and at the end are the same, without those that a diff shows around a change."""
    most = min(len(old), len(new))
    first = next((n for n in range(most) if old[n] != new[n]), most)
    last = next((n for n in range(most - first) if old[-1 - n] != new[-1 - n]), most - first)
    return max(first - CONTEXT, 0), max(last - CONTEXT, 0)


def _moved(header: str, lines: int) -> str:
    """The head of a hunk in a file that has some lines before what was compared."""
    return re.sub(r"(?<=[-+])\d+", lambda found: str(int(found[0]) + lines), header) if lines else header


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
