"""The history of Kubernetes itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from simkit.logic.lifecycle.document import DatedRelease, Gate, Group, History, Stage, Version
from simkit.logic.lifecycle.fieldchanges import changes
from simkit.meta.errors import SimkitError
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
