"""A change as a diff of the file in which the object is written, with the comments and the order of that file."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import unified_diff
from pathlib import Path
from typing import Any, Final

from simkit.analysis.rbac.objects import NAMESPACES, kind_of
from simkit.language.yaml.decode import BrokenText, decode
from simkit.language.yaml.roundtrip import rewritten
from simkit.logic.migration.documents import is_separator, pieces
from simkit.meta.escaping import one_line
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, labels_of

CONTENT: Final = ("subjects", "rules")
LARGEST_FILE: Final = 4 * 1024 * 1024
LARGEST_DOCUMENT: Final = 256 * 1024
"""Bytes up to which a file is read, and letters up to which a document is written anew."""
_SUFFIXES: Final = (".yaml", ".yml")


def diff_of_file(file: str, line: int | None, key: Key, wanted: Object | None) -> str:
    """The unified diff of a YAML file in which an object changes or goes; empty where that cannot be told.

    It cannot be told for archives and JSON, for large documents, and where the file has changed since it was read.
    """
    text = _text(Path(file))
    found = list(pieces(text))
    for number, (piece, first) in enumerate(found):
        if line is not None and not first <= line <= first + piece.count("\n"):
            continue
        value = _decoded(piece)
        if value is None or _inner(value, key) is None:
            continue
        made = [each for each, _ in found]
        try:
            made[number : number + 1] = [_changed(piece, value, key, wanted)]
        except BrokenText:
            return ""
        if not made[number].strip():
            del made[number]
            if 0 < number <= len(made) and is_separator(made[number - 1]):
                del made[number - 1]
        return _diff(file, text, "".join(made))
    return ""


def _text(path: Path) -> str:
    """The text of a YAML file; empty for anything else."""
    try:
        if path.suffix.lower() not in _SUFFIXES or not path.is_file() or path.stat().st_size > LARGEST_FILE:
            return ""
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
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


def _changed(piece: str, value: Object, key: Key, wanted: Object | None) -> str:
    """The text of a document with the object changed or without it; empty if nothing is left."""
    old = _inner(value, key)
    new = None if wanted is None or old is None else _as_wanted(old, key, wanted)
    if old is value:
        return "" if new is None else rewritten(piece, new)
    items = [new if each is old else each for each in value["items"]]
    return rewritten(piece, {**value, "items": [each for each in items if each is not None]})


def _as_wanted(old: Object, key: Key, wanted: Object) -> dict[str, Any]:
    """The object as it is written, with what a change makes of its content or labels."""
    if key.resource != NAMESPACES:
        return {**old, **{name: wanted[name] for name in CONTENT if name in wanted}}
    metadata: Mapping[str, Any] = old.get("metadata") or {}
    return {**old, "metadata": {**metadata, "labels": {**labels_of(old), **labels_of(wanted)}}}


def _diff(file: str, before: str, after: str) -> str:
    name = one_line(file.lstrip("/"))
    lines = unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        f"a/{name}",
        f"b/{name}" if after.strip() else "/dev/null",
    )
    return "".join(each if each.endswith("\n") else f"{each}\n\\ No newline at end of file\n" for each in lines)
