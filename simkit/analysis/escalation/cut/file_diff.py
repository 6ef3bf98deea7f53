"""A change as a diff of the file in which the object is written, with the comments and the order of that file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Final

from simkit.analysis.rbac.objects import kind_of
from simkit.language.merge.mergepatch import merge_patch
from simkit.language.yaml.complaints import BrokenText
from simkit.language.yaml.decode import decode
from simkit.language.yaml.roundtrip import rewritten
from simkit.logic.migration.documents import is_separator, pieces
from simkit.meta.names import Key
from simkit.meta.objects import Object, at
from simkit.meta.visible_text import one_line
from simkit.present.escaping import patch_lines

LARGEST_DOCUMENT: Final = 256 * 1024
"""Letters up to which a document is written anew."""
LARGEST_FILE: Final = 4 * 1024 * 1024
"""Bytes up to which a file is read."""
SUFFIXES: Final = (".yaml", ".yml")
CONTEXT: Final = 3
"""Unchanged lines around a change."""


def diff_of_file(file: str, line: int | None, key: Key, patch: Object | None) -> str:
    """The unified diff of a file in which an object is changed by a merge patch or, if None, goes; empty where that
    cannot be told.

    It cannot be told for JSON and archives, for large documents, and where the file has changed since it was read.
    """
    text = _text_of(file)
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
        return _diff(file, text, "".join(made))
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


def _text_of(file: str) -> str:
    """The text of a YAML file; empty for anything else, such as a member of an archive."""
    path = Path(file)
    try:
        whole = path.suffix.lower() in SUFFIXES and path.is_file() and path.stat().st_size <= LARGEST_FILE
        text = path.read_bytes().decode("utf-8") if whole else ""
    except (OSError, UnicodeDecodeError):
        return ""
    return "" if text.lstrip()[:1] in ("{", "[") else text
