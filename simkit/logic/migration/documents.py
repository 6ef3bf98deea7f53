"""Texts with manifests, rewritten for a release: every document by itself, everything else byte for byte as it was."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Any, Final

from simkit.language.yaml.complaints import BrokenText
from simkit.language.yaml.decode import decode
from simkit.language.yaml.roundtrip import rewritten
from simkit.logic.migration.migrate_object import MigratedObject, migrate_object, reshapes
from simkit.meta.objects import Object, name_of
from simkit.schema.lifecycle import is_served, lifecycle_of
from simkit.snapshot.sources import Piece
from simkit.snapshot.templates import Template, heads_of

_SEPARATOR: Final = re.compile(r"^---(?:[ \t][^\n]*)?\r?\n", re.MULTILINE)
_JSON_VERSION: Final = re.compile(r"(\"apiVersion\"\s*:\s*\")([^\"\\]+)(\")")
_VERSION: Final = re.compile(r"^(apiVersion:[ \t]*)([\"']?)([^\s\"'#]+)([\"']?)", re.MULTILINE)
_MARK: Final = "\ufeff"
"""The byte order mark, which editors put in front of a text."""
_INDENT: Final = re.compile(r"\n([ \t]+)\S")
_ACTION: Final = re.compile(r"\{\{-? ?[^\s{]")


@dataclass(frozen=True, slots=True)
class Document:
    """One object of a text, and what became of it."""

    line: int
    kind: str
    name: str
    before: str
    migrated: MigratedObject
    whole: bool = True
    """False where values are left to a template, so that a server cannot be asked about the object."""

    def with_result(self, **changes: Any) -> Document:
        """The document with another result in some fields."""
        return replace(self, migrated=replace(self.migrated, **changes))


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A text as it should be, and what became of each document that is concerned."""

    text: str
    documents: tuple[Document, ...] = ()
    problems: tuple[str, ...] = field(default=())
    """The parts that could not be read, with their line."""


def rewrite(text: str, release: str, *, output_version: str = "", file: str = "") -> Rewritten:
    """A text of YAML or JSON documents for a release.

    Documents of other kinds, comments between documents and templates that are not plain stay as they are.

    Examples
    --------
    >>> found = rewrite("# ours\\napiVersion: batch/v1beta1  # old\\nkind: CronJob\\nmetadata: {name: a}\\n", "1.25")
    >>> print(found.text, end="")
    # ours
    apiVersion: batch/v1  # old
    kind: CronJob
    metadata: {name: a}
    """
    if text.startswith(_MARK):
        inner = rewrite(text[1:], release, output_version=output_version, file=file)
        return replace(inner, text=f"{_MARK}{inner.text}")
    if "\r\n" in text and text.count("\r\n") == text.count("\n"):
        inner = rewrite(text.replace("\r\n", "\n"), release, output_version=output_version, file=file)
        return replace(inner, text=inner.text.replace("\n", "\r\n"))
    if text.lstrip()[:1] == "{" and not _ACTION.match(text.lstrip()):
        return _json(text, release, output_version)
    parts: list[str] = []
    documents: list[Document] = []
    problems: list[str] = []
    for chunk, line in pieces(text):
        if not chunk.strip() or is_separator(chunk):
            parts.append(chunk)
            continue
        try:
            made, found = _document(chunk, line, release, output_version)
        except BrokenText as wrong:
            made, found = chunk, list(_template(chunk, line, release, file))
            if not found and not _ACTION.search(chunk):
                problems.append(f"line {line - 1 + wrong.line}: {wrong.what}")
            if len(found) == 1 and found[0].migrated.changed:
                made = _in_version(chunk, found[0].migrated.to)
        parts.append(made)
        documents += found
    return Rewritten("".join(parts), tuple(documents), tuple(problems))


def objects_of(text: str) -> Iterator[tuple[int, Object]]:
    """Every object of a text with its line, as far as it can be read; those of lists one by one, templates left out."""
    for chunk, line in pieces(text):
        if _ACTION.search(chunk):
            continue
        with suppress(BrokenText):
            yield from ((line, one) for one in _flat(decode(chunk)))


def _flat(value: Any) -> Iterator[Object]:
    if isinstance(value, dict):
        items = value.get("items")
        if str(value.get("kind", "")).endswith("List") and isinstance(items, list):
            for item in items:
                yield from _flat(item)
        else:
            yield value


def is_separator(piece: str) -> bool:
    """True if a piece of a text is a line between documents."""
    return _SEPARATOR.fullmatch(piece) is not None


def pieces(text: str) -> Iterator[tuple[str, int]]:
    """The documents and the lines between them, with their first lines."""
    start = 0
    for mark in _SEPARATOR.finditer(text):
        if mark.start() > start:
            yield text[start : mark.start()], text.count("\n", 0, start) + 1
        yield mark.group(), text.count("\n", 0, mark.start()) + 1
        start = mark.end()
    if start < len(text):
        yield text[start:], text.count("\n", 0, start) + 1


def _document(chunk: str, line: int, release: str, output_version: str) -> tuple[str, list[Document]]:
    value = decode(chunk)
    if isinstance(value, str | int | float):
        raise BrokenText(1, f"{str(value)[:40]!r} is no object")
    if not isinstance(value, dict):
        return chunk, []
    wanted, documents = _mended(value, line, release, output_version)
    if _ACTION.search(chunk):
        documents = [replace(each, whole=False) for each in documents]
    if wanted is value:
        return chunk, documents
    try:
        return _with_version(chunk, value, wanted) or laid_out(chunk, wanted), documents
    except BrokenText as wrong:
        told = f"the text has to be changed by hand: {wrong.what}"
        return chunk, [
            each.with_result(changed=False, person=(*each.migrated.person, told)) if each.migrated.changed else each
            for each in documents
        ]


def _mended(value: Any, line: int, release: str, output_version: str) -> tuple[Any, list[Document]]:
    """The value as it should be (itself where nothing changes), and the documents in it: a list has several."""
    items = value.get("items")
    if str(value.get("kind", "")).endswith("List") and isinstance(items, list):
        made, documents = [], []
        for item in items:
            wanted, found = _mended(item, line, release, output_version) if isinstance(item, dict) else (item, [])
            made.append(wanted)
            documents += found
        changed = any(new is not old for new, old in zip(made, items, strict=True))
        return ({**value, "items": made} if changed else value), documents
    migrated = migrate_object(value, release, output_version=output_version)
    if not migrated.is_concerned:
        return value, []
    kind, version = str(value.get("kind") or ""), str(value.get("apiVersion") or "")
    name = str(name_of(value)) if isinstance(value.get("metadata"), Mapping) else ""
    return (migrated.object if migrated.changed else value), [Document(line, kind, name, version, migrated)]


def _with_version(chunk: str, value: Object, wanted: Object) -> str:
    """The text with another version and nothing else changed; empty where more is to change."""
    if {**wanted, "apiVersion": value["apiVersion"]} != value:
        return ""
    found = [match[3] for match in _VERSION.finditer(chunk)]
    return _in_version(chunk, str(wanted["apiVersion"])) if found == [value["apiVersion"]] else ""


def _in_version(chunk: str, version: str) -> str:
    """The text with this as its first version."""
    return _VERSION.sub(lambda match: f"{match[1]}{match[2]}{version}{match[4]}", chunk, count=1)


def laid_out(chunk: str, wanted: Object) -> str:
    """The text of one document that says something else. Raises BrokenText where that cannot be done in place."""
    made = with_comments(chunk, rewritten(chunk, wanted))
    return made if made.endswith("\n") or not chunk.endswith("\n") else f"{made}\n"


# JSON


def _json(text: str, release: str, output_version: str) -> Rewritten:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as wrong:
        return Rewritten(text, problems=(str(wrong),))
    if not isinstance(value, dict):
        return Rewritten(text)
    wanted, documents = _mended(value, 1, release, output_version)
    if wanted is value:
        return Rewritten(text, tuple(documents))
    with_versions = _with_versions(text, documents)
    if json.loads(with_versions) == wanted:
        return Rewritten(with_versions, tuple(documents))
    return Rewritten(_like(text, wanted) + ("\n" if text.endswith("\n") else ""), tuple(documents))


def _like(text: str, wanted: Any) -> str:
    """A value as JSON with the indentation of a text; on one line if the text is."""
    indent = _INDENT.search(text)
    if indent is None:
        return json.dumps(wanted, ensure_ascii=False, separators=None if '": ' in text else (",", ":"))
    return json.dumps(wanted, ensure_ascii=False, indent=indent[1])


def _with_versions(text: str, documents: list[Document]) -> str:
    """The text with the versions of its documents changed, and nothing else."""
    moved = {each.before: each.migrated.to for each in documents if each.migrated.changed and each.migrated.to}
    return _JSON_VERSION.sub(lambda match: f"{match[1]}{moved.get(match[2], match[2])}{match[3]}", text)


# Templates


def _template(chunk: str, line: int, release: str, file: str) -> Iterator[Document]:
    """The migrated template: its version changes if that is all; otherwise a person has to change it."""
    if not _ACTION.search(chunk):
        return
    for head in heads_of(Piece(file, chunk)):
        here = line - 1 + head.line
        if not head.is_plain:
            told = "the version depends on values: see that the template has one for this release"
            yield Document(here, head.kind, head.name, "", MigratedObject({}, person=(told,)), False)
        elif head.asks_server:
            continue
        elif lifecycle_of(head.api_version, head.kind) and not is_served(head.api_version, head.kind, release):
            yield Document(here, head.kind, head.name, head.api_version, _of_head(head, release), False)


def _of_head(head: Template, release: str) -> MigratedObject:
    bare = migrate_object({"apiVersion": head.api_version, "kind": head.kind, "metadata": {"name": "a"}}, release)
    if not bare.to or bare.person:
        return bare if bare.person else MigratedObject({}, person=(f"{head.api_version} {head.kind} has no successor",))
    expected = {"apiVersion": bare.to, "kind": head.kind, "metadata": {"name": "a"}}
    if bare.object == expected and not reshapes(head.kind, head.api_version, bare.to):
        return MigratedObject(expected, bare.to, changed=True)
    told = f"fields change from {head.api_version} to {bare.to}: render the template, or rewrite it by hand"
    return MigratedObject({}, bare.to, person=(told,))


_COMMENT: Final = re.compile(r"(?:^|\s)(#(?:\s.*|))$")


def with_comments(old: str, new: str) -> str:
    """The new text with the comments that only the old one has; itself where they cannot be placed.

    Examples
    --------
    >>> print(with_comments("a:\\n  b: 1  # ours\\n", "a:\\n  c: {d: 1}\\n"), end="")
    a:
      # ours
      c: {d: 1}
    """
    lost = Counter(_comments(old.split("\n"))) - Counter(_comments(new.split("\n")))
    if not lost:
        return new
    before, after = old.split("\n"), new.split("\n")
    made: list[str] = []
    for _, start, end, first, last in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        kept = after[first:last]
        for comment in _comments(before[start:end]):
            if lost[comment]:
                lost[comment] -= 1
                made.append(f"{_indentation(kept or after[first : first + 1])}{comment}")
        made += kept
    text = "\n".join(made)
    return text if _says_the_same(text, new) else new


def _comments(lines: list[str]) -> Iterator[str]:
    for line in lines:
        match = _COMMENT.search(line)
        if match is not None and all(line[: match.start(1)].count(quote) % 2 == 0 for quote in "\"'"):
            yield match[1].rstrip()


def _indentation(lines: list[str]) -> str:
    first = next((line for line in lines if line.strip()), "")
    return first[: len(first) - len(first.lstrip())]


def _says_the_same(text: str, other: str) -> bool:
    try:
        return bool(decode(text) == decode(other))
    except BrokenText:
        return False
