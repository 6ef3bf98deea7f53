"""Warnings about files of a volume that take each other's place.

Follows ``pkg/api/pod/warnings.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from simkit.meta.behaviour import applies
from simkit.meta.fielderror import quoted
from simkit.meta.objects import Object


class _File(NamedTuple):
    path: str
    source: str

    def __str__(self) -> str:
        return f"{quoted(self.path)} ({self.source})" if self.source else quoted(self.path)


def overlap_warnings(volumes: Sequence[Object]) -> Iterator[str]:
    """Warnings of each volume whose files have one path, or one the path of a folder of the other."""
    for volume in volumes:
        name = volume.get("name") or ""
        for kind, called, shown in (("configMap", "name", "ConfigMap"), ("secret", "secretName", "Secret")):
            source = volume.get(kind) or {}
            files = [_File(one.get("path") or "", "") for one in source.get("items") or ()]
            yield from _overlaps(name, f"{shown} {quoted(source.get(called) or '')}", files)
        downward = [_File(one.get("path") or "", "") for one in (volume.get("downwardAPI") or {}).get("items") or ()]
        yield from _overlaps(name, "DownwardAPI", downward)
        sources = (volume.get("projected") or {}).get("sources") or ()
        empty = f"volume {quoted(name)} (Projected) has no sources provided"
        files, new = [], []
        for source in sources:
            if not any(part is not None for part in source.values()):
                yield empty
                continue
            found = _files(source)
            if found is not None or not applies("sources-without-items-repeat-files"):
                new = list(found or ())
            yield from _overlaps(name, "Projected", new, files)
            files += [_trimmed(one) for one in new]


def _files(source: Object) -> Sequence[_File] | None:
    """The files of one source of a projected volume, of which only the first part counts; None where none is told."""
    for kind, shown in (("configMap", "ConfigMap"), ("secret", "Secret"), ("downwardAPI", "DownwardAPI")):
        part = source.get(kind)
        if part is not None and part.get("items") is not None:
            called = shown if kind == "downwardAPI" else f"{shown} {quoted(part.get('name') or '')}"
            return [_File(one.get("path") or "", called) for one in part["items"]]
    token, bundle = source.get("serviceAccountToken"), source.get("clusterTrustBundle")
    if token is not None:
        return [_File(token.get("path") or "", "ServiceAccountToken")]
    if bundle is not None:
        called = bundle["name"] if bundle.get("name") is not None else bundle.get("signerName") or ""
        return [_File(bundle.get("path") or "", f"ClusterTrustBundle {quoted(called)}")]
    certificate = source.get("podCertificate")
    return [*_certificate_files(certificate)] if certificate is not None else None


def _certificate_files(part: Object) -> Iterator[_File]:
    names = (("certificateChainPath", "chain"), ("keyPath", "key"), ("credentialBundlePath", "credential bundle"))
    return (_File(part[field], f"PodCertificate {shown}") for field, shown in names if part.get(field))


def _overlaps(name: str, shown: str, files: Sequence[_File], before: Sequence[_File] = ()) -> Iterator[str]:
    known = list(before)
    for each in files:
        file = _trimmed(each)
        for other in known:
            if file.path and other.path and (file == other or _nested(file.path, other.path)):
                yield f"volume {quoted(name)} ({shown}): overlapping paths: {file} with {other}"
        known.append(file)


def _trimmed(file: _File) -> _File:
    return file._replace(path=file.path.rstrip("/"))


def _nested(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")
