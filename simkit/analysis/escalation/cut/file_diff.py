"""A change as a diff of the file in which the object is written, with the comments and the order of that file."""

from __future__ import annotations

import json
from difflib import unified_diff
from typing import Any, Final

from simkit.analysis.escalation.cut.written_text import text_of
from simkit.analysis.rbac.objects import kind_of
from simkit.language.merge.mergepatch import merge_patch
from simkit.language.yaml.complaints import BrokenText
from simkit.language.yaml.decode import decode
from simkit.language.yaml.roundtrip import rewritten
from simkit.logic.migration.documents import is_separator, pieces
from simkit.meta.escaping import one_line, patch_lines
from simkit.meta.names import Key
from simkit.meta.objects import Object, at

LARGEST_DOCUMENT: Final = 256 * 1024
"""Letters up to which a document is written anew."""
LARGEST_JSON: Final = 512 * 1024
"""Letters of a JSON file up to which it is written anew as a whole."""
_INDENTS: Final = (4, 2, "\t", 1)


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
    if len(text) > LARGEST_JSON:
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(value, dict) or _inner(value, key) is None:
        return text
    end = text[len(text.rstrip()) :]
    for indent in _INDENTS:
        if _as_json(value, indent) + end == text:
            made = _with_change(value, key, patch)
            return "" if made is None else _as_json(made, indent) + end
    return text


def _as_json(value: Any, indent: int | str) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False)


def _diff(name: str, before: str, after: str) -> str:
    named = one_line(name.lstrip("/"))
    lines = unified_diff(
        patch_lines(before),
        patch_lines(after),
        f"a/{named}",
        f"b/{named}" if after.strip() else "/dev/null",
    )
    return "".join(each if each.endswith("\n") else f"{each}\n\\ No newline at end of file\n" for each in lines)
