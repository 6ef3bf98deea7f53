"""What reaches a cluster before and after a migration: kustomizations and charts, rendered and compared."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from simkit.analysis.upgrade.migration import MigratedFile, Migration
from simkit.kinds.conversions.convert import differences
from simkit.logic.migration.documents import Document, objects_of
from simkit.logic.migration.kustomizations import FILES
from simkit.logic.migration.migrate_object import MigratedObject, migrate_object
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupVersion
from simkit.meta.objects import Object, at

CHART: Final = "Chart.yaml"
_SHOWN: Final = 4
Render = Callable[[Path], str]
"""Gives the manifests of the folder of a kustomization or a chart. Raises SimkitError where it cannot be rendered."""
Name = tuple[str, str, str, str]
"""Group, kind, namespace and name."""


def compared(found: Migration, sources: Iterable[str | Path], render: Render) -> Migration:
    """A migration with what rendering shows: each object that does not reach the cluster as it did.

    Every kustomization and chart is rendered as it is, and with the rewritten files in a copy of its source folder. The
    objects afterwards have to be those of before, each rewritten by itself. What differs is left to a person.

    Parameters
    ----------
    sources
        The folders that were migrated. Others are not rendered.
    """
    files = {Path(each.path).resolve(): each for each in found.files}
    for source in map(Path, sources):
        if not source.is_dir() or not any(each.changed for each in found.files):
            continue
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "after"
            shutil.copytree(source, copy, symlinks=True)
            for path, file in files.items():
                if file.changed and path.is_relative_to(source.resolve()):
                    (copy / path.relative_to(source.resolve())).write_text(file.after, encoding="utf-8", newline="")
            for path in _heads(files, source.resolve()):
                after = copy / path.parent.relative_to(source.resolve())
                told = tuple(_told(path.parent, after, found.release, render))
                files[path] = _with(files[path], told) if told else files[path]
    return replace(found, files=tuple(files[Path(each.path).resolve()] for each in found.files))


def _heads(files: Mapping[Path, MigratedFile], source: Path) -> list[Path]:
    """The kustomizations and charts of a folder; components are rendered as parts of those that name them."""
    return [
        path
        for path, file in files.items()
        if (path.name in FILES or path.name == CHART)
        and path.is_relative_to(source)
        and "kind: Component" not in file.before
    ]


def _told(before: Path, after: Path, release: str, render: Render) -> Iterator[str]:
    try:
        old = render(before)
    except SimkitError:
        return  # it was broken before: there is nothing to compare with
    try:
        new = render(after)
    except SimkitError as wrong:
        yield f"it is not rendered any more: {wrong}"
        return
    wanted = [migrate_object(obj, release).object for _, obj in objects_of(old)]
    yield from _changes(wanted, [obj for _, obj in objects_of(new)])


def _changes(wanted: Sequence[Object], made: Sequence[Object]) -> Iterator[str]:
    """A sentence for each object that is not as it should be."""
    before, after = ({_name(obj): obj for obj in objects} for objects in (wanted, made))
    for name in {**before, **after}:
        title = f"{name[1]} {f'{name[2]}/{name[3]}'.strip('/')}"
        if name not in after:
            yield f"rendered, {title} of {name[0] or 'the core group'} is missing after the migration"
        elif name not in before:
            yield f"rendered, {title} of {name[0] or 'the core group'} was not there before the migration"
        else:
            found = list(differences(before[name], after[name]))
            shown = "; ".join(f"{each.path} is {each.after}, and was {each.before}" for each in found[:_SHOWN])
            more = f"; and {len(found) - _SHOWN} fields more" if len(found) > _SHOWN else ""
            if found:
                yield f"rendered, {title} is not what it was: {shown}{more}"


def _name(obj: Object) -> Name:
    group = GroupVersion.parse(str(obj.get("apiVersion") or "")).group
    metadata = at(obj, "metadata") or {}
    return group, str(obj.get("kind")), str(metadata.get("namespace") or ""), str(metadata.get("name") or "")


def _with(file: MigratedFile, told: tuple[str, ...]) -> MigratedFile:
    """The file with what a person has to see to."""
    kind = "Kustomization" if Path(file.path).name in FILES else "Chart"
    document = Document(1, kind, "", "", MigratedObject({}, person=told))
    return replace(file, rewritten=replace(file.rewritten, documents=(*file.rewritten.documents, document)))
