"""Lists split into single objects, with the facts about their completeness."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Final, NamedTuple

from simkit.meta.names import GroupVersion
from simkit.schema.releases import nearest_release
from simkit.snapshot.document import Document
from simkit.snapshot.field_types import described
from simkit.snapshot.report import HOW_TO_DUMP, Report
from simkit.snapshot.sources import SUFFIXES

ApiKind = tuple[str, str]
"""An apiVersion and a kind."""
SERVER_VERSION: Final = "serverVersion"
"""The field in which ``kubectl version -o json`` tells the version of the server, and dumps too."""
_LIST: Final = "List"
_PAGED: Final = "say captured=[...] when all pages of it are in the dump"
_NOT_OBJECTS: Final[Mapping[str, str]] = {
    "Table": "a table for people, not objects; ask for JSON without the header that asks for a table",
    "PartialObjectMetadata": "only the metadata of an object",
    "PartialObjectMetadataList": "only the metadata of objects",
}


class Found(NamedTuple):
    """An object as written in its file, unchecked."""

    value: Any
    file: str
    line: int | None
    where: str = ""
    """The position within the document, such as ``item 3``."""


@dataclass
class ListFlattener:
    """Splits lists, and records the resources that they contain completely."""

    report: Report
    whole: set[ApiKind] = field(default_factory=set)
    """Kinds of complete lists, perhaps empty ones."""
    cut: dict[ApiKind, str] = field(default_factory=dict)
    """Kinds of incomplete lists, with the file."""
    named: dict[str, str] = field(default_factory=dict)
    """Names of files with an empty list without a kind."""
    server_release: str = ""
    """The release that the server told, as ``kubectl version -o json`` and ``simkit dump`` write it."""

    def objects(self, document: Document, file: str) -> Iterator[Found]:
        """The objects of a document, with nested lists split too."""
        found = Found(document.value, file, document.line)
        told = told_release(document.value)
        self.server_release = self.server_release or told
        if told and "kind" not in document.value:
            return  # the answer of kubectl version, which is no object
        if isinstance(document.value, list):
            yield from self._items(document.value, found, document, {})
        elif _is_list(document.value):
            yield from self._list(document.value, found, document)
        elif self._is_object(found):
            yield found

    def _list(self, value: Mapping[str, Any], at: Found, document: Document) -> Iterator[Found]:
        kind = str(value.get("kind") or _LIST)
        if kind in _NOT_OBJECTS:
            self.report.add(at.file, at.line, _NOT_OBJECTS[kind], HOW_TO_DUMP)
            return
        items = value.get("items") or []
        if not isinstance(items, list):
            self.report.add(at.file, at.line, f"the items of a {kind} are not a list", "it was left out")
            return
        types = _item_types(value, kind)
        whole = self._is_whole(value, document, at)
        self._remember(types, items, at, whole=whole)
        yield from self._items(items, at, document, types)

    def _items(self, items: list[Any], at: Found, document: Document, types: Mapping[str, str]) -> Iterator[Found]:
        lines = document.item_lines if len(document.item_lines) == len(items) else ()
        for number, item in enumerate(items, 1):
            found = Found(item, at.file, lines[number - 1] if lines else at.line, f"item {number}")
            if _is_list(item):
                yield from self._list(item, found, Document(item, found.line))
            elif isinstance(item, dict) and types and not (item.get("apiVersion") and item.get("kind")):
                yield Found({**types, **item}, found.file, found.line, found.where)
            elif self._is_object(found):
                yield found

    def _is_whole(self, value: Mapping[str, Any], document: Document, at: Found) -> bool:
        meta = value.get("metadata")
        if isinstance(meta, dict) and meta.get("continue"):
            self.report.add(at.file, at.line, "one page of a list that goes on", f"dump without a limit, or {_PAGED}")
            return False
        return document.whole

    def _remember(self, types: Mapping[str, str], items: list[Any], at: Found, *, whole: bool) -> None:
        if types:
            kind = (types["apiVersion"], types["kind"])
            if whole:
                self.whole.add(kind)
            else:
                self.cut[kind] = at.file
        elif not whole and items and isinstance(items[-1], dict):
            # Items stand by kind: it is the last kind that may go on.
            self.cut[str(items[-1].get("apiVersion")), str(items[-1].get("kind"))] = at.file
        elif not items:
            self.named[stem(at.file)] = at.file

    def _is_object(self, found: Found) -> bool:
        value = found.value
        place = f"{found.where}: " if found.where else ""
        if not isinstance(value, dict):
            what = f"{place}{_described(value)} where an object should be"
            self.report.add(found.file, found.line, what, HOW_TO_DUMP)
            return False
        kind = value.get("kind")
        if kind == "Status" and value.get("apiVersion") == "v1":
            what = f"{place}an answer instead of objects: {value.get('message') or value.get('reason')}"
            self.report.add(found.file, found.line, what, "see that the dumping user may list it, then dump it again")
            return False
        if isinstance(kind, str) and kind in _NOT_OBJECTS:
            self.report.add(found.file, found.line, place + _NOT_OBJECTS[kind], HOW_TO_DUMP)
            return False
        return True


def told_release(value: Any) -> str:
    """The release of the server, or the nearest that can be served, where a document tells it; else an empty text.

    Examples
    --------
    >>> told_release({"serverVersion": {"major": "1", "minor": "33+"}})
    '1.33'
    """
    told = value.get(SERVER_VERSION) if isinstance(value, Mapping) else None
    if not isinstance(told, Mapping):
        return ""
    return nearest_release(f"{told.get('major')}.{''.join(filter(str.isdecimal, str(told.get('minor'))))}")


def _is_list(value: Any) -> bool:
    """True if a value is a list of objects: it has items, and a kind that says so, or none."""
    if not isinstance(value, dict):
        return False
    meta = value.get("metadata")
    if value.get("kind") is None and isinstance(value.get("items"), list):
        return not (isinstance(meta, dict) and meta.get("name"))
    if not str(value.get("kind", "")).endswith(_LIST):
        return False
    return "items" in value or not (isinstance(meta, dict) and meta.get("name"))


def _item_types(value: Mapping[str, Any], kind: str) -> dict[str, str]:
    """apiVersion and kind of the items of a list of one kind; empty for a mixed one."""
    api_version = str(value.get("apiVersion") or "")
    if kind == _LIST or not GroupVersion.parse(api_version).version:
        return {}
    return {"apiVersion": api_version, "kind": kind.removesuffix(_LIST)}


def stem(file: str) -> str:
    """The name of a file without its folder and its suffixes."""
    name = PurePath(file).name
    while (suffix := PurePath(name).suffix.lower()) in SUFFIXES and suffix:
        name = name[: -len(suffix)]
    return name


def _described(value: Any) -> str:
    if isinstance(value, str) and "\n" not in value:
        return "a line of text"
    return described(value)
