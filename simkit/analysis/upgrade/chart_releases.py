"""The releases of charts that Helm keeps in a cluster, and their manifests.

Follows ``pkg/storage/driver/util.go`` of helm.sh/helm, versions 3 and 2: JSON or a protobuf message, compressed, in
base64; in a Secret in base64 once more.
"""

from __future__ import annotations

import base64
import gzip
import io
import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

import orjson

from simkit.meta.objects import Object, at, namespace_of
from simkit.snapshot.unpacking import DEFAULT_LIMITS

LARGEST_RELEASE: Final = 64 * 1024 * 1024
"""Bytes that the record of a chart's release may unpack to."""
_GRACE: Final = 1024 * 1024
"""Bytes that any record may unpack to, however small it is; beyond, as many for each of its own as of other sources."""
PACKED: Final = b"\x1f\x8b"
"""The first bytes of what gzip has compressed."""
HELM_2: Final = "TILLER"
NAME, MANIFEST, NAMESPACE = 1, 5, 8
"""Fields of a release in Helm 2 (hapi/release/release.proto)."""


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
    labels = {str(key).lower(): value for key, value in written.items()} if isinstance(written, dict) else {}
    owner = labels.get("owner")
    if owner not in ("helm", HELM_2) or str(labels.get("status", "deployed")).lower() != "deployed":
        return None
    name = f"{namespace_of(obj)}/{labels.get('name') or ''}"
    text = at(obj, "data", "release")
    if not isinstance(text, str) or not text:
        left_out = "the values of secrets were left out, and the release of a chart with them"
        return ChartRelease(name, unread=left_out) if obj.get("kind") == "Secret" else None
    try:
        content = _unpacked(text)
        return _of_helm_2(content) if owner == HELM_2 else _of_helm_3(content)
    except (ValueError, OSError, EOFError, zlib.error) as error:
        told = " ".join(str(error).split())
        return ChartRelease(name, unread=f"the release of a chart is no record of Helm: {told}")


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


def _of_helm_3(content: bytes) -> ChartRelease:
    record = orjson.loads(content)
    if not isinstance(record, dict):
        raise ValueError("the record is no object")
    name = f"{record.get('namespace') or ''}/{record.get('name') or ''}"
    return ChartRelease(name, str(record.get("manifest") or ""))


def _of_helm_2(content: bytes) -> ChartRelease:
    fields = {number: value.decode() for number, value in _fields(content) if number in (NAME, MANIFEST, NAMESPACE)}
    return ChartRelease(f"{fields.get(NAMESPACE, '')}/{fields.get(NAME, '')}", fields.get(MANIFEST, ""))


def _fields(content: bytes) -> Iterator[tuple[int, bytes]]:
    """The texts and messages of a protobuf message, by the number of their field."""
    position = 0
    while position < len(content):
        tag, position = _number(content, position)
        size = {0: None, 1: 8, 5: 4}.get(tag & 7, 0)
        if tag & 7 == 2:
            size, position = _number(content, position)
            if position + size > len(content):
                raise ValueError("the message breaks off")
            yield tag >> 3, content[position : position + size]
        elif size == 0:
            raise ValueError(f"no field has the type {tag & 7}")
        elif size is None:
            _, position = _number(content, position)
            continue
        position += size


def _number(content: bytes, position: int) -> tuple[int, int]:
    """A number of variable length, and the position behind it."""
    value = shift = 0
    while True:
        if position >= len(content) or shift > 63:
            raise ValueError("the message breaks off")
        byte = content[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if not byte & 0x80:
            return value, position
