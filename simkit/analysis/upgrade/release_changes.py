"""Everything that is known to change between two releases, as one table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.rbac.tables import table
from simkit.analysis.upgrade.removed_resources import removed_between
from simkit.logic.rbac.defaults import default_objects
from simkit.meta.errors import SimkitError
from simkit.meta.objects import Object, name_of
from simkit.schema.admissionplugins import on_by_default, plugins_of
from simkit.schema.behaviour import changes_of_behaviour
from simkit.schema.catalogue import Catalogue
from simkit.schema.definitions import definitions
from simkit.schema.feature_gates import Gate, known, parse_feature_gates
from simkit.schema.releases import release_name

if TYPE_CHECKING:
    import pandas as pd

COLUMNS: Final = ("area", "change", "subject", "text", "source")
Row = tuple[str, str, str, str, str]


def release_changes(old: str, new: str, *, areas: Iterable[str] | None = None) -> pd.DataFrame:
    """Everything that is known to change from one release to another.

    Parameters
    ----------
    old, new
        The releases, in either order.
    areas
        Only these areas: ``versions``, ``fields``, ``default roles``, ``feature gates``, ``admission plugins``, and
        those of changed behaviour such as ``messages``; None: all of them.

    Returns
    -------
    DataFrame
        One row per change: area, change (``comes``, ``goes`` or ``changes``), subject (a version with its resource, a
        field, a role, a gate, a plugin, or the id of changed behaviour), text, source.

    Raises
    ------
    SimkitError
        For a release that is not known, and for an area that is none.

    Notes
    -----
    Versions are those that are served by default, fields those of their kinds. Behaviour is in the table as far as it
    is simulated: ``simkit.schema.behaviour``.

    Examples
    --------
    >>> from simkit.analysis import release_changes
    >>> release_changes("1.33", "1.34", areas=["messages"])[["change", "subject"]].values.tolist()[0]
    ['comes', 'values-in-json']
    """
    before, after = release_name(old), release_name(new)
    behaviour = [
        (each.area, step, each.id, each.text, each.source) for step, each in changes_of_behaviour(before, after)
    ]
    wanted = None if areas is None else frozenset(areas)
    unknown = (wanted or frozenset()) - _TABLES.keys() - _behaviour_areas()
    if unknown:
        known_areas = ", ".join(sorted({*_TABLES, *_behaviour_areas()}))
        raise SimkitError(f"there is no area {min(unknown)!r}; known: {known_areas}")
    rows = [
        row for area, changes in _TABLES.items() if wanted is None or area in wanted for row in changes(before, after)
    ]
    return table([*rows, *(row for row in behaviour if wanted is None or row[0] in wanted)], COLUMNS)


def _behaviour_areas() -> frozenset[str]:
    from simkit.meta.behaviour import changes

    return frozenset(each.area for each in changes().values())


def _versions(old: str, new: str) -> Iterator[Row]:
    catalogues = Catalogue.for_release(old), Catalogue.for_release(new)
    for step, (here, there) in (("goes", catalogues), ("comes", catalogues[::-1])):
        for each in removed_between(here, there).resources:
            instead = f"; use {each.replacement}" if step == "goes" and each.replacement else ""
            yield (
                "versions",
                step,
                f"{each.api_version}/{each.resource}",
                f"{each.kind}{instead}",
                "k8s.io/api, lifecycle of the type",
            )


def _fields(old: str, new: str) -> Iterator[Row]:
    """Fields of types that both releases have."""
    before, after = definitions(old).rows, definitions(new).rows
    for name in sorted(before.keys() & after.keys()):
        fields = before[name].get("fields", {}), after[name].get("fields", {})
        if fields[0].keys() == fields[1].keys():
            continue
        for step, gone in (("goes", fields[0].keys() - fields[1].keys()), ("comes", fields[1].keys() - fields[0])):
            for each in sorted(gone):
                yield "fields", step, f"{name.removeprefix('io.k8s.')}.{each}", "", "OpenAPI of the release"


def _roles(old: str, new: str) -> Iterator[Row]:
    before, after = ({_role_key(obj): obj for obj in default_objects(each)} for each in (old, new))
    source = "plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
    for key in sorted(before.keys() | after.keys()):
        step = "goes" if key not in after else "comes" if key not in before else "changes"
        if step == "changes" and _granted(before[key]) == _granted(after[key]):
            continue
        yield "default roles", step, " ".join(filter(None, key)), _permissions(before.get(key), after.get(key)), source


def _role_key(obj: Object) -> tuple[str, str, str]:
    return obj["kind"], (obj.get("metadata") or {}).get("namespace", ""), name_of(obj)


def _granted(obj: Object | None) -> frozenset[str]:
    """Each permission of a role in one text, and each subject of a binding."""
    found = set()
    for rule in (obj or {}).get("rules") or ():
        targets = [
            f"{resource}{f'.{group}' if group else ''}{f' {name}' if name else ''}"
            for group in rule.get("apiGroups", ())
            for resource in rule.get("resources", ())
            for name in rule.get("resourceNames") or ("",)
        ]
        found |= {
            f"{verb} {target}" for verb in rule["verbs"] for target in (*targets, *rule.get("nonResourceURLs", ()))
        }
    return frozenset(found | {f"{each['kind']} {each['name']}" for each in (obj or {}).get("subjects") or ()})


def _permissions(before: Object | None, after: Object | None) -> str:
    gone, come = _granted(before) - _granted(after), _granted(after) - _granted(before)
    told = [f"{word}: {', '.join(sorted(each))}" for word, each in (("less", gone), ("more", come)) if each]
    return "; ".join(told)


def _gates(old: str, new: str) -> Iterator[Row]:
    before, after = known(old), known(new)
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        if was == now:
            continue
        step = "goes" if now is None else "comes" if was is None else "changes"
        told = " to ".join(_state(each) for each in (was, now) if each is not None)
        yield "feature gates", step, name, told, "kube_features.go of the release"


def _state(gate: Gate) -> str:
    return f"{gate.stage} {'on' if gate.default else 'off'}{' locked' if gate.locked else ''}"


def _plugins(old: str, new: str) -> Iterator[Row]:
    before, after = (_plugin_states(each) for each in (old, new))
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        if was != now:
            step = "goes" if now is None else "comes" if was is None else "changes"
            yield "admission plugins", step, name, f"{now or was} by default", "pkg/kubeapiserver/options/plugins.go"


def _plugin_states(release: str) -> Mapping[str, str]:
    on = on_by_default(release, parse_feature_gates({}, release).values)
    return {name: "on" if name in on else "off" for name in plugins_of(release)}


_TABLES: Final[Mapping[str, Any]] = {
    "versions": _versions,
    "fields": _fields,
    "default roles": _roles,
    "feature gates": _gates,
    "admission plugins": _plugins,
}
"""The functions that read the other tables, by area."""
