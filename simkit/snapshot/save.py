"""The writer of dumps: ``load`` reads them back, and the same objects give the same bytes."""

from __future__ import annotations

import gzip
import io
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, Final, Literal

import orjson

from simkit.language.yaml.encode import encode
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Draft, Object
from simkit.meta.whole_file import PRIVATE, write_whole
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.dump import Dump
from simkit.snapshot.flatten import SERVER_VERSION
from simkit.snapshot.resources import ResourceIndex, index_of

Form = Literal["json", "yaml"]
Saveable = Dump | Snapshot | Iterable[Object]
"""A dump, a snapshot, or plain objects."""
_FORMS: Final[dict[str, Form]] = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}


def save(source: Saveable, path: str | Path, *, server_release: str = "") -> Path:
    """The path of the written objects: JSON or YAML by the suffix, compressed if it ends in ``.gz``.

    One ``List``, ordered by resource, namespace and name, its keys sorted: as ``kubectl get`` would write it. Resources
    of which it is known that there are none are in it as empty lists of their kind, so that loading tells them from
    those which nobody looked at. The release of the server, where it is given or a dump tells it, is in
    ``serverVersion``, as in ``kubectl version -o json``. Only its owner can read the file, since it may hold secrets.

    Raises
    ------
    SimkitError
        For a path with another ending.
    """
    target = Path(path)
    packed = target.suffix == ".gz"
    form = _FORMS.get(Path(target.stem).suffix if packed else target.suffix)
    if form is None:
        raise SimkitError(f"cannot tell how to write {target}; end it in .json, .yaml or .json.gz")
    content = rendered(source, form, server_release=server_release)
    return write_whole(target, _packed(content) if packed else content, mode=PRIVATE)


def rendered(source: Saveable, form: Form = "json", *, server_release: str = "") -> bytes:
    """The bytes that ``save`` writes, uncompressed.

    Examples
    --------
    >>> account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": "shop"}}
    >>> print(rendered([account], "yaml").decode(), end="")
    apiVersion: v1
    items:
    - apiVersion: v1
      kind: ServiceAccount
      metadata:
        name: robot
        namespace: shop
    kind: List
    metadata:
      resourceVersion: ''
    """
    whole: dict[str, Any] = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}}
    whole["items"] = _items(source)
    told = server_release or (source.server_release if isinstance(source, Dump) else "")
    if told:
        major, minor = told.split(".")
        whole[SERVER_VERSION] = {"major": major, "minor": minor}
    if form == "yaml":
        return encode(whole).encode()
    return orjson.dumps(whole, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


def _packed(content: bytes) -> bytes:
    """The compressed bytes, without time and name of the file, which would differ."""
    buffer = io.BytesIO()
    with gzip.GzipFile("", "wb", fileobj=buffer, mtime=0) as file:
        file.write(content)
    return buffer.getvalue()


def _items(source: Saveable) -> list[Any]:
    if isinstance(source, Dump):
        return _with_marks(source.keyed.items(), source.captured, source.index)
    if isinstance(source, Iterable):
        objects = list(source)
        index = ResourceIndex.of(objects)
        return [obj for _, obj in sorted(dict(map(index.keyed, objects)).items(), key=_by_key)]
    index = index_of(source)
    stored = {index.stored(resource) for resource in source.captured()}
    keyed = [(index.key(obj), obj) for resource in stored for obj in source.scan(resource)]
    return _with_marks(keyed, source.captured(), index)


def _by_key(pair: tuple[Key, Object]) -> Key:
    return pair[0]


def _with_marks(
    keyed: Iterable[tuple[Key, Object]], captured: Collection[GroupResource], index: ResourceIndex
) -> list[Any]:
    """The objects in order, followed by an empty list for each captured resource without an object.

    Where there are objects of a resource that was not captured, the empty list says that it goes on.
    """
    ordered = sorted(keyed, key=_by_key)
    present = {key.resource for key, _ in ordered}
    stored = {index.stored(resource) for resource in captured}
    none = [_empty_list(resource, index) for resource in sorted(stored - present)]
    part = [_empty_list(resource, index, goes_on=True) for resource in sorted(present - stored)]
    return [*(obj for _, obj in ordered), *filter(None, none), *filter(None, part)]


def _empty_list(resource: GroupResource, index: ResourceIndex, *, goes_on: bool = False) -> Draft | None:
    """An empty list of a resource; None if its kind is unknown."""
    known = index.catalogue.preferred(resource)
    if known is None:
        return None
    metadata = {"continue": "the rest was not captured"} if goes_on else {}
    return {"apiVersion": known.api_version, "kind": known.list_gvk.kind, "metadata": metadata, "items": []}
