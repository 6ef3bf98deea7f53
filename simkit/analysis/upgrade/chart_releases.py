"""The releases of charts that Helm keeps in a cluster, and their manifests.

Follows ``pkg/storage/driver/util.go`` of helm.sh/helm, version 3: JSON, compressed, in base64; in a Secret in base64
once more. The records of Helm 2, which ended in 2020, are not read.
"""

from __future__ import annotations

import base64
import gzip
import io
import zlib
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
        content = _unpacked(text)
        return _of_record(content)
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


def _of_record(content: bytes) -> ChartRelease:
    record = orjson.loads(content)
    if not isinstance(record, dict):
        raise ValueError("the record is no object")
    name = f"{record.get('namespace') or ''}/{record.get('name') or ''}"
    return ChartRelease(name, str(record.get("manifest") or ""))
