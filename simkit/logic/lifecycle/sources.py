"""Histories of known data: Kubernetes' releases, and custom resource definitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from simkit.logic.lifecycle.document import DatedRelease, Element, Gate, Group, History, Stage, Version
from simkit.logic.lifecycle.fieldchanges import changes
from simkit.meta.errors import SimkitError
from simkit.meta.objects import Object, at, name_of
from simkit.schema import feature_gates as feature_gates
from simkit.schema import lifecycle
from simkit.schema.releases import RELEASES, dated, minor_of


def of_releases(groups: Iterable[str] | None = None, *, fields: bool = False, gates: bool = False) -> History:
    """The history of Kubernetes itself, from 1.16 on with what is known of the time before.

    Parameters
    ----------
    groups
        Only these groups; None: all of them.
    fields
        Whether to compare the fields of every kind release by release too (half a second for all).
    gates
        Whether to tell the lives of feature gates too. Of stable ones that are gone it is a rule of the project, not
        a measurement, in which release after 1.30 they went.

    Examples
    --------
    >>> sorted({version.name for version in of_releases(["batch"]).groups[0].versions})
    ['v1', 'v1beta1', 'v2alpha1']
    """
    wanted = None if groups is None else frozenset(groups)
    found: dict[str, list[Version]] = {}
    for life in lifecycle.all_lifecycles().values():
        group = life.gvk.group
        if wanted is None or group in wanted:
            found.setdefault(group, []).append(_version(life))
    if wanted is not None and wanted - found.keys():
        raise SimkitError(f"no release had the group {', '.join(sorted(wanted - found.keys()))}")
    return History(
        name="Kubernetes",
        releases=tuple(DatedRelease(name=each.name, date=each.released) for each in dated()),
        groups=tuple(_group(name, versions) for name, versions in sorted(found.items())),
        elements=tuple(changes(found)) if fields else (),
        gates=tuple(map(_gate, feature_gates.names())) if gates else (),
    )


def _gate(name: str) -> Gate:
    """The history of a feature gate. A stable gate's lock counts from the release that introduced it."""
    stages, removed = [], ""
    for release, gate in feature_gates.history_of(name):
        if gate is None:
            removed = _dated(release)
        else:
            stage = gate.stage.lower()
            stages.append(Stage(release=_dated(release), stage=stage, default=gate.default, locked=gate.locked))  # type: ignore[arg-type]
    return Gate(name=name, stages=tuple(stages), removed=removed)


def _version(life: lifecycle.Lifecycle) -> Version:
    return Version(
        name=life.gvk.version,
        kinds=(life.kind,),
        introduced=_dated(life.introduced),
        deprecated=_dated(life.deprecated),
        removed=life.removed,
        replacement=(life.told(life.deprecated) if life.deprecated else life.replacement).partition(" ")[0],
    )


def _dated(release: str) -> str:
    """The release, or the oldest one with a date, since older ones are old enough for every rule."""
    oldest = dated()[0]
    return oldest.name if release and minor_of(release) < oldest.minor else release


def _group(name: str, versions: Sequence[Version]) -> Group:
    """A group with the changes of its preferred version. Stored versions are not recorded in any package."""
    moves: dict[str, str] = {}
    latest = ""
    for release in RELEASES:
        preferred = next((served[0] for group, served in lifecycle.order(release) if group == name), "")
        if preferred and preferred != latest:
            moves[release] = latest = preferred
    ordered = sorted(versions, key=lambda each: (each.name, each.kinds))
    return Group(name=name, versions=tuple(ordered), preferred=moves)


# Custom resource definitions


def of_definitions(states: Sequence[tuple[DatedRelease, Iterable[Object]]], *, name: str = "") -> History:
    """The history of a series of custom resource definitions, one set per release.

    A version is introduced where it first appears and removed where it is no longer served; ``deprecated`` of a
    version says since when. Fields that go while their version stays are elements that were removed.

    Parameters
    ----------
    states
        Releases in order, each with its definitions.
    """
    if not states:
        raise SimkitError("a history needs the definitions of at least one release")
    names = [release.name for release, _ in states]
    by_name: dict[str, list[Object | None]] = {}
    for place, (_, definitions) in enumerate(states):
        for definition in definitions:
            column = by_name.setdefault(name_of(definition), [None] * len(states))
            column[place] = definition
    groups: dict[str, list[Group]] = {}
    elements: list[Element] = []
    for column in by_name.values():
        group = _group_of(column, names)
        groups.setdefault(group.name, []).append(group)
        elements += _lost_fields(column, names, group.name)
    merged = tuple(_merged(name, parts) for name, parts in groups.items())
    releases = tuple(release for release, _ in states)
    return History(name=name, releases=releases, groups=merged, elements=tuple(elements))


def _merged(name: str, parts: Sequence[Group]) -> Group:
    versions = tuple(version for part in parts for version in part.versions)
    return Group(name=name, versions=versions, preferred=parts[0].preferred, storage=parts[0].storage)


def _group_of(column: Sequence[Object | None], names: Sequence[str]) -> Group:
    present = [(place, definition) for place, definition in enumerate(column) if definition is not None]
    newest = present[-1][1]
    kind, group = str(at(newest, "spec", "names", "kind") or ""), str(at(newest, "spec", "group") or "")
    lives: dict[str, dict[str, Any]] = {}
    storage: dict[str, str] = {}
    for place, definition in present:
        for version in _served(definition):
            life = lives.setdefault(version["name"], {"introduced": names[place]})
            if version.get("deprecated"):
                life.setdefault("deprecated", names[place])
        for version in at(definition, "spec", "versions") or ():
            if version.get("storage") and version["name"] != next(reversed(storage.values()), None):
                storage[names[place]] = version["name"]
    for name, life in lives.items():
        gone = _first_without(name, column, names.index(life["introduced"]))
        if gone is not None:
            life["removed"] = names[gone]
    versions = tuple(Version(name=name, kinds=(kind,), **life) for name, life in lives.items())
    return Group(name=group, versions=versions, preferred=dict(storage), storage=storage)


def _served(definition: Object) -> Iterator[Mapping[str, Any]]:
    for version in at(definition, "spec", "versions") or ():
        if version.get("served"):
            yield version


def _first_without(name: str, column: Sequence[Object | None], start: int) -> int | None:
    for place in range(start, len(column)):
        definition = column[place]
        if definition is None or all(version["name"] != name for version in _served(definition)):
            return place
    return None


def _lost_fields(column: Sequence[Object | None], names: Sequence[str], group: str) -> Iterator[Element]:
    """Fields of a served version that are missing in the next release."""
    for place in range(1, len(column)):
        before, after = column[place - 1], column[place]
        if before is None or after is None:
            continue
        later = {version["name"]: _paths(at(version, "schema", "openAPIV3Schema")) for version in _served(after)}
        kind = str(at(after, "spec", "names", "kind"))
        for version in _served(before):
            if version["name"] not in later:
                continue
            gone = _paths(at(version, "schema", "openAPIV3Schema")) - later[version["name"]]
            for path in sorted(gone):
                yield Element(
                    sort="field", name=f"{kind}.{path}", group=group, version=version["name"], removed=names[place]
                )


def _paths(schema: Any, prefix: str = "") -> set[str]:
    """All property paths of a schema; those inside a list have its name in front."""
    found: set[str] = set()
    if not isinstance(schema, Mapping):
        return found
    for name, child in (schema.get("properties") or {}).items():
        path = f"{prefix}.{name}" if prefix else name
        found.add(path)
        found |= _paths(child, path)
    found |= _paths(schema.get("items"), prefix)
    return found
