"""Everything that an upgrade is held against: stored objects, manifests, releases of charts."""

from __future__ import annotations

import base64
import binascii
import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

import orjson

from simkit.meta.names import GroupVersion
from simkit.meta.objects import Object, at, labels_of, metadata
from simkit.snapshot.flatten import Found
from simkit.snapshot.load import read_documents
from simkit.snapshot.protocol import Snapshot
from simkit.snapshot.report import Problem
from simkit.snapshot.sources import Piece, Source
from simkit.snapshot.templates import Template

Origin = Literal["stored", "manifest", "chart release"]
HELM_TYPE: Final = "helm.sh/release.v1"
LARGEST_RELEASE: Final = 64 * 1024 * 1024
"""Bytes that the record of a chart's release may unpack to."""


@dataclass(frozen=True, slots=True)
class Item:
    """An object with the place that it comes from."""

    obj: Object
    origin: Origin = "stored"
    file: str = ""
    line: int | None = None
    release: str = ""
    """The release of a chart that it belongs to, as ``namespace/name``."""

    @property
    def api_version(self) -> str:
        return str(self.obj.get("apiVersion") or "")

    @property
    def kind(self) -> str:
        return str(self.obj.get("kind") or "")

    @property
    def group(self) -> str:
        return GroupVersion.parse(self.api_version).group

    @property
    def name(self) -> str:
        found = self._metadata()
        return str(found.get("name") or found.get("generateName") or "")

    @property
    def namespace(self) -> str:
        return str(self._metadata().get("namespace") or "")

    def _metadata(self) -> Any:
        found = self.obj.get("metadata")
        return found if isinstance(found, dict) else {}

    @property
    def place(self) -> str:
        """File and line, or the release of a chart; empty for what is stored."""
        if self.release:
            return f"release {self.release}"
        return f"{self.file}:{self.line}" if self.file and self.line else self.file

    @property
    def title(self) -> str:
        """Kind and name."""
        name = f"{self.namespace}/{self.name}".strip("/")
        return f"{self.kind} {name}".strip()


@dataclass(frozen=True, slots=True)
class Items:
    """The items of a source, with what could not be read of it."""

    items: tuple[Item, ...] = ()
    templates: tuple[Template, ...] = ()
    problems: tuple[Problem, ...] = ()


def stored_items(snapshot: Snapshot) -> Iterator[Item]:
    """Every captured object of a snapshot once, and the objects of the chart releases that it keeps."""
    seen = set()
    for resource in sorted(snapshot.captured()):
        for obj in snapshot.scan(resource):
            uid = metadata(obj).get("uid")
            if uid and uid in seen:
                continue  # the second view of an event
            seen.add(uid)
            yield Item(obj)
            yield from release_items(obj)


def read_items(source: Source) -> Items:
    """The items of files, folders, texts or objects. What has a uid was listed by a server, and counts as stored."""
    found, templates, report = read_documents(source)
    items: list[Item] = []
    lost = [problem for problem in report if problem.weight == "lost"]
    for each in found:
        item = _item(each)
        if isinstance(item, Problem):
            lost.append(item)
        elif item is not None:
            items.append(item)
            items += release_items(item.obj)
    return Items(tuple(items), tuple(templates), tuple(lost))


def _item(found: Found) -> Item | Problem | None:
    """The object that was found; None for what is none, and a problem for one that no server takes."""
    obj = found.value
    if not isinstance(obj, dict) or not isinstance(obj.get("kind"), str) or not isinstance(obj.get("apiVersion"), str):
        return None
    meta = obj.get("metadata")
    if not isinstance(meta, dict | None):
        return Problem(
            found.file, found.line, f"the metadata of a {obj['kind']} is no object", "correct it, or leave it out"
        )
    stored = bool((meta or {}).get("uid"))
    return Item(obj, "stored" if stored else "manifest", found.file, found.line)


# Releases of charts, as Helm keeps them


def release_items(obj: Object) -> Iterator[Item]:
    """The objects in the record of a chart's deployed release; nothing for other objects.

    Follows ``pkg/storage/driver/util.go`` of helm.sh/helm/v3: JSON, compressed, in base64 once more.
    """
    text = _record(obj)
    if not text:
        return
    try:
        raw = base64.b64decode(text)
        record = orjson.loads(_unpacked(raw) if raw[:2] == b"\x1f\x8b" else raw)
    except (binascii.Error, ValueError, OSError, EOFError, zlib.error):
        return
    if not isinstance(record, dict):
        return
    name = f"{record.get('namespace') or ''}/{record.get('name') or ''}"
    manifest = str(record.get("manifest") or "")
    found, _, _ = read_documents([Piece(f"release {name}", manifest)] if manifest.strip() else [])
    for each in found:
        item = _item(each)
        if isinstance(item, Item):
            yield Item(item.obj, "chart release", "", None, name)


def _record(obj: Object) -> str:
    """The encoded record in a Secret or a ConfigMap of a release that is deployed; empty where there is none."""
    if at(obj, "metadata", "labels", "owner") != "helm" or labels_of(obj).get("status", "deployed") != "deployed":
        return ""
    text = at(obj, "data", "release")
    if not isinstance(text, str):
        return ""
    if obj.get("type") != HELM_TYPE:
        return text
    try:
        return base64.b64decode(text).decode()
    except (binascii.Error, ValueError):
        return ""


def is_unreadable_release(obj: Object) -> bool:
    """True if it records a chart's release whose values were left out."""
    return obj.get("type") == HELM_TYPE and labels_of(obj).get("status", "") == "deployed" and not _record(obj)


def _unpacked(raw: bytes) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(raw)) as stream:
        return stream.read(LARGEST_RELEASE)


def with_bodies(items: Iterable[Item]) -> Iterator[tuple[Item, bytes]]:
    """Each item with its text, in which words can be looked for quickly; empty where it cannot be encoded."""
    for item in items:
        try:
            yield item, orjson.dumps(item.obj, option=orjson.OPT_NON_STR_KEYS)
        except TypeError:
            yield item, b""
