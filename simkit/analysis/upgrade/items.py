"""Everything that an upgrade is held against: stored objects, manifests, releases of charts that Helm keeps; and the
rows about them.

Follows ``pkg/storage/driver/util.go`` of helm.sh/helm, version 3: JSON, compressed, in base64; in a Secret in base64
once more. The records of Helm 2, which ended in 2020, are not read.
"""

from __future__ import annotations

import base64
import gzip
import io
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os.path import abspath
from pathlib import PurePath
from typing import Any, Final, Literal, NamedTuple

import orjson

from simkit.meta.names import GroupVersion, Key
from simkit.meta.objects import Object, at, metadata, name_of, namespace_of
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.dump import Dump
from simkit.snapshot.flatten import Found, stem
from simkit.snapshot.load import read_documents
from simkit.snapshot.report import Problem
from simkit.snapshot.sources import Piece, Source
from simkit.snapshot.templates import Template
from simkit.snapshot.unpacking import DEFAULT_LIMITS

Origin = Literal["stored", "manifest", "chart release"]
_VALUES: Final = ".Values."
_IS_VALUE: Final = re.compile(r"\.Values(\.\w+)+")


_BUILT_FROM: Final = ("resources", "bases", "components")
_GENERATED: Final = ("helmCharts", "helmChartInflationGenerator", "generators")
"""The fields of kustomizations with lists of files and folders, and those whose objects no file has."""


@dataclass(frozen=True, slots=True)
class Item:
    """An object with the place that it comes from."""

    obj: Object
    origin: Origin = "stored"
    file: str = ""
    line: int | None = None
    release: str = ""
    """The release of a chart that it belongs to, as ``namespace/name``."""

    @classmethod
    def of_template(cls, template: Template, line: int = 0) -> Item:
        """What is known of the object of a template that is not rendered; ``line`` counts from its first one."""
        obj = {"apiVersion": template.api_version, "kind": template.kind, "metadata": {"name": template.name}}
        return cls(obj, "manifest", template.file, template.line + line)

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
    def helm_release(self) -> str:
        """The release of the chart as commands of Helm name it: ``shop --namespace web``."""
        namespace, _, name = self.release.partition("/")
        return f"{name} --namespace {namespace}"

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
    values: tuple[Item, ...] = ()
    """Mappings that are no objects, such as the values of a chart."""
    server_release: str = ""
    """The release of the server, where the source tells it."""

    def leaves_out(self, template: Template) -> bool:
        """True if the values of a chart leave a template out: one of its conditions is a value that is not set."""
        parts = PurePath(template.file).parts
        chart = PurePath(*parts[: parts.index("templates")]) if "templates" in parts else PurePath()
        values = next((each.obj for each in self.values if PurePath(each.file) == chart / "values.yaml"), None)
        paths = [each.removeprefix(_VALUES) for each in template.conditions if _IS_VALUE.fullmatch(each)]
        return values is not None and any(not at(values, *path.split(".")) for path in paths)


def stored_items(snapshot: Snapshot, dump: Dump | None = None) -> Iterator[Item]:
    """Every captured object of a snapshot once, and the objects of the chart releases that it keeps.

    Objects that a dump has without a uid are manifests, and are given as they are written there.
    """
    seen = set()
    written = {} if dump is None else {key: obj for key, obj in dump.keyed.items() if not metadata(obj).get("uid")}
    for resource in sorted(snapshot.captured()):
        for obj in snapshot.scan(resource):
            uid = metadata(obj).get("uid")
            if uid and uid in seen:
                continue  # the second view of an event
            seen.add(uid)
            key = Key(resource, namespace_of(obj), name_of(obj))
            if dump is not None and key in written:
                yield Item(written[key], "manifest", *dump.origins.get(key, ("", None)))
            else:
                yield Item(obj)
            yield from release_items(obj)


def read_items(source: Source) -> Items:
    """The items of files, folders, texts or objects. What has a uid was listed by a server, and counts as stored."""
    sources: list[Any] = list(source) if isinstance(source, list | tuple) else [source]
    found, templates, report, server_release = read_documents(sources)
    items: list[Item] = []
    values: list[Item] = []
    lost = [each for each in report if each.weight != "note"]
    for each in found:
        item = _item(each)
        if isinstance(item, Problem):
            lost.append(item)
        elif item is not None and not item.kind:
            values.append(item)
        elif item is not None:
            items.append(item)
            items += release_items(item.obj)
    lost += _unread_parts([*items, *values])
    return Items(tuple(items), tuple(templates), tuple(lost), tuple(values), server_release)


def _unread_parts(items: Iterable[Item]) -> Iterator[Problem]:
    """What the kustomizations among some items build from and was not read: other folders, addresses and charts."""
    paths = [(each, PurePath(abspath(each.file))) for each in items if each.file]
    read = {one for _, path in paths for one in (path, *path.parents)}
    for each, path in paths:
        if stem(each.file).lower() == "kustomization":
            lists = (value for field in _BUILT_FROM if isinstance(value := each.obj.get(field), list))
            named = (one for some in lists for one in some if isinstance(one, str))
            unread = [one for one in named if PurePath(abspath(path.parent / one)) not in read]
            unread += [field for field in _GENERATED if each.obj.get(field)]
            if unread:
                what = f"{', '.join(unread)} of a kustomization"
                yield Problem(each.file, each.line, what, "give what kustomize build writes")


def _item(found: Found) -> Item | Problem | None:
    """The object or other mapping that was found; None for what is none, and a problem for one that no server takes."""
    obj = found.value
    if not isinstance(obj, dict):
        return None
    if not isinstance(obj.get("kind"), str) or not isinstance(obj.get("apiVersion"), str):
        return None if "kind" in obj else Item(obj, "manifest", found.file, found.line)
    meta = obj.get("metadata")
    if not isinstance(meta, dict | None):
        return Problem(
            found.file, found.line, f"the metadata of a {obj['kind']} is no object", "correct it, or leave it out"
        )
    stored = bool((meta or {}).get("uid"))
    return Item(obj, "stored" if stored else "manifest", found.file, found.line)


def release_items(obj: Object) -> Iterator[Item]:
    """The objects of the deployed release of a chart that an object records; nothing for other objects."""
    release = chart_release(obj)
    if release is None or not release.manifest.strip():
        return
    for each in read_documents([Piece(f"release {release.name}", release.manifest)]).found:
        item = _item(each)
        if isinstance(item, Item):
            yield Item(item.obj, "chart release", "", None, release.name)


def with_bodies(items: Iterable[Item]) -> Iterator[tuple[Item, bytes]]:
    """Each item with its text, in which words can be looked for quickly; empty where it cannot be encoded."""
    for item in items:
        try:
            yield item, orjson.dumps(item.obj, option=orjson.OPT_NON_STR_KEYS)
        except TypeError:
            yield item, b""


LARGEST_RELEASE: Final = 64 * 1024 * 1024
"""Bytes that the record of a chart's release may unpack to."""
_GRACE: Final = 1024 * 1024
"""Bytes that any record may unpack to, however small it is; beyond, as many for each of its own as of other sources."""
PACKED: Final = b"\x1f\x8b"
"""The first bytes of what gzip has compressed."""


class ChartRelease(NamedTuple):
    """The deployed release of a chart: its manifest, or the reason why it could not be read."""

    name: str
    manifest: str = ""
    unread: str = ""


def chart_release(obj: Object) -> ChartRelease | None:
    """The deployed release of a chart that an object records; None for other objects.

    Examples
    --------
    >>> labels = {"owner": "helm", "status": "deployed", "name": "shop"}
    >>> data = {"release": base64.b64encode(b'{"name": "shop", "namespace": "web", "manifest": "kind: Pod"}').decode()}
    >>> chart_release({"kind": "ConfigMap", "metadata": {"name": "shop.v1", "labels": labels}, "data": data})
    ChartRelease(name='web/shop', manifest='kind: Pod', unread='')
    """
    written = at(obj, "metadata", "labels")
    labels = written if isinstance(written, dict) else {}
    if labels.get("owner") != "helm" or labels.get("status", "deployed") != "deployed":
        return None
    name = f"{namespace_of(obj)}/{labels.get('name') or ''}"
    text = at(obj, "data", "release")
    if not isinstance(text, str) or not text:
        left_out = "the values of secrets were left out, and the release of a chart with them"
        return ChartRelease(name, unread=left_out) if obj.get("kind") == "Secret" else None
    try:
        record = orjson.loads(_unpacked(text))
        if not isinstance(record, dict):
            raise ValueError("the record is no object")
    except (ValueError, OSError, EOFError, zlib.error) as error:
        told = " ".join(str(error).split())
        return ChartRelease(name, unread=f"the release of a chart is no record of Helm: {told}")
    name = f"{record.get('namespace') or ''}/{record.get('name') or ''}"
    return ChartRelease(name, str(record.get("manifest") or ""))


def _unpacked(text: str) -> bytes:
    """The record without base64, however often, and without compression."""
    raw = base64.b64decode(text, validate=True)
    if raw[:2] != PACKED and raw[:1] != b"{":
        raw = base64.b64decode(raw, validate=True)
    if raw[:2] != PACKED:
        return raw
    with gzip.GzipFile(fileobj=io.BytesIO(raw)) as stream:
        most = min(LARGEST_RELEASE, max(_GRACE, DEFAULT_LIMITS.ratio * len(raw)))
        content = stream.read(most + 1)
    if len(content) > most:
        raise ValueError(f"it unpacks to more than {most:,} bytes")
    return content


class Break(NamedTuple):
    """A row of an upgrade report.

    ``release`` is the first one that has the change. ``breaks`` is False for what goes on working or fails already,
    and None for what could not be read.
    ``where`` is the object with the field, and of what is not stored by itself the release of the chart or the file.
    ``who`` is the caller, the field manager, or those who have a role; ``evidence`` says how it is known.
    """

    release: str
    severity: str
    breaks: bool | None
    check: str
    what: str
    where: str
    who: str
    evidence: str
    remedy: str
    source: str
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    field: str = ""
    file: str = ""
    line: int | None = None


def break_of(
    item: Item,
    *,
    release: str,
    severity: str,
    check: str,
    what: str,
    evidence: str,
    remedy: str,
    source: str,
    breaks: bool = True,
    field: str = "",
    who: str = "",
    api_version: str = "",
) -> Break:
    """The row of something that concerns an item."""
    where = f"{item.title} {field}".strip() or item.place
    if item.release:
        name, _, namespace = item.helm_release.partition(" ")
        remedy = f"{remedy} Then upgrade to a chart that has it so: helm upgrade {name} CHART {namespace}."
    if item.release or (item.place and not item.name):
        where = f"{where} ({item.place})"
    return Break(
        release,
        severity,
        breaks,
        check,
        what,
        where,
        who,
        evidence,
        remedy,
        source,
        api_version or item.api_version,
        item.kind,
        item.namespace,
        item.name,
        field,
        item.file,
        item.line,
    )
