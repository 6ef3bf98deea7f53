"""A server of any release: its resources, its limits, the migration of a fork to another release, and a fork
without some APIs, as after their removal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from simkit.cluster.options import Options
from simkit.cluster.plugins import PLUGINS
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.logic.rbac.defaults import assumed
from simkit.meta.behaviour import changes
from simkit.meta.errors import SimkitError
from simkit.meta.names import Key
from simkit.schema.admissionplugins import plugins_of
from simkit.schema.catalogue import Catalogue, Resource
from simkit.schema.feature_gates import known, settable
from simkit.schema.releases import BASE, minor_of, release_name
from simkit.schema.runtimeconfig import configured, parse
from simkit.seams import Store

_READ_POLICIES: Final = frozenset((20, 21, *range(23, 37)))
"""The numbers of the releases whose own default roles were read."""
_READ_GATES: Final = frozenset((20, 21, *range(23, 38)))
"""The numbers of the releases whose own feature gates were read."""

_COMPARED: Final = (21, 25, 27, 30, 32, 33, 34, 35, 36)
"""The numbers of the releases whose servers were asked the same, at random and by hand."""
_LAST_WITH_PLACES: Final = 22
"""The last release whose errors of bodies that do not fit name a place in the body."""


class Limit(NamedTuple):
    """One way in which a simulated server of a release differs from kube-apiserver."""

    area: str
    text: str


_LIMITS: Final = (
    Limit("versions", "as the release serves them, with its own warnings; discovery lists them in its order"),
    Limit(
        "schemas", "the release's fields; defaults, list markers and enumerations of fields that 1.30 has are 1.30's"
    ),
    Limit("conversions", "those of the newest release that had both versions"),
    Limit(
        "storage",
        "objects are kept in the newest stable version of their kind, whatever the release stored; which one discovery "
        "names is exact at 1.20 and from 1.23 on, elsewhere the one that the release before preferred too",
    ),
    Limit(
        "controllers", "1.30's, with the labels and fields that they write; up to 1.23 accounts get secrets with tokens"
    ),
)
"""The limits of all releases other than 1.30."""


def limits(release: str) -> tuple[Limit, ...]:
    """The differences from kube-apiserver of a release; empty for 1.30, whose behaviour simkit has."""
    name = release_name(release)
    return () if name == BASE else (*_LIMITS, *_rules(name), _roles(name), _plugins(name), _gates(name))


def _rules(release: str) -> Iterator[Limit]:
    """The limits of the rules for requests and objects, and the dates of changes that are guesses."""
    older = minor_of(release) < minor_of(BASE)
    before, after = (release, BASE) if older else (BASE, release)
    since = f"1.30's, with what simkit releases diff {before} {after} lists as changed"
    if older:
        since += "; that list was read in the sources of 1.20 to 1.30, and it is not whole"
    yield Limit(
        "validation",
        since + "; what is written through beta versions of definitions, webhooks, signing "
        "requests, endpoint slices, events and the first workloads is held to what those demanded",
    )
    number = minor_of(release)
    places = ""
    if number <= _LAST_WITH_PLACES:
        places = "; errors of bodies that do not fit their kind do not name the place in the body"
    yield Limit("protocol", since + ": list semantics, watches, server-side apply, messages" + places)
    yield Limit("comparison", _comparison(number))
    guesses = [each for each in changes().values() if each.guessed(number)]
    if guesses:
        told = "; ".join(f"{each.id}: {each.assumed}" for each in guesses)
        yield Limit("dates of changes", f"guesses are {told}")


def _comparison(number: int) -> str:
    if number in _COMPARED:
        return "kube-apiserver of this release was asked the same, at random and by hand"
    nearest = sorted(sorted(_COMPARED, key=lambda other: abs(other - number))[:2])
    others = " and ".join(f"1.{other}" for other in nearest)
    return f"kube-apiserver of this release was not compared; the nearest that were are {others}"


def _roles(release: str) -> Limit:
    text = "the release's, told as differences to 1.30's"
    if minor_of(release) not in _READ_POLICIES:
        text += "; this release's own policy was not read: release notes and the policies of others tell"
    doubtful = sorted(set(assumed(release)))
    if doubtful:
        text += f"; whether the release had some rules of these is a guess: {', '.join(doubtful)}"
    return Limit("default roles", text)


def _plugins(release: str) -> Limit:
    missing = [name for name in plugins_of(release) if name not in PLUGINS.ours]
    text = "the release's, on and off as there"
    if missing:
        text += f"; missing are {', '.join(missing)}"
    return Limit("admission plugins", text)


def _gates(release: str) -> Limit:
    text = f"the {len(known(release))} of the release with their stages, defaults and locks"
    text += "; a gate opens its fields, what else a feature does is 1.30's"
    unread = minor_of(release) not in _READ_GATES
    return Limit("feature gates", text + ("; when a stable one went may be one release off" if unread else ""))


def catalogue_of(options: Options) -> Catalogue:
    """The resources of a server with these options, without custom resources."""
    return configured(options.release, options.runtime_config, options.feature_gates)


def at_release(options: Options, release: str) -> Options:
    """The options for another release, without versions, gates and plugins that it does not have."""
    name = release_name(release)
    whole = Catalogue.for_release(name, everything=True)
    kept = {key: value for key, value in options.runtime_config.items() if _known(key, whole)}
    gates = {gate: value for gate, value in options.feature_gates.items() if settable(gate, value, name)}
    there = set(plugins_of(name))
    on = [plugin for plugin in options.enable_admission_plugins if plugin in there]
    off = [plugin for plugin in options.disable_admission_plugins if plugin in there]
    return replace(
        options,
        release=name,
        runtime_config=kept,
        feature_gates=gates,
        enable_admission_plugins=on,
        disable_admission_plugins=off,
        show_hidden_metrics_for_version="",
    )


def _known(key: str, whole: Catalogue) -> bool:
    try:
        configured(whole.release, {key: True})
    except SimkitError:
        return False
    return True


def migrate(store: Store, old: Catalogue, new: Catalogue) -> list[Key]:
    """Rewrite objects whose storage version changes with the release; returns their keys.

    O(objects of the kinds whose stored version differs), which are few: most kinds are kept in the same version at
    all releases. Objects whose kind the new release does not know stay as they are.
    """
    rewritten = []
    for before, after in _moved(old, new):
        served = RequestScope(new, after)
        for entry in store.scan(before.storage):
            obj = served.to_storage({**entry.object, "apiVersion": before.storage_gvk.api_version})
            store.put(entry.key, obj, expect=entry.revision)
            rewritten.append(entry.key)
    return rewritten


def _moved(old: Catalogue, new: Catalogue) -> Iterator[tuple[Resource, Resource]]:
    """Resources with another storage version: the old one, and the new release's resource in the old version."""
    stored = {each.storage: each for each in new.stored()}
    for before in old.stored():
        after = stored.get(before.storage)
        if after is None or after.custom or after.storage_gvk == before.storage_gvk:
            continue
        same = new.kind(before.storage_gvk)
        if same is not None:
            yield before, same


def runtime_config_disabling(catalogue: Catalogue, elements: Sequence[str]) -> dict[str, bool]:
    """The settings of ``--runtime-config`` that disable versions, groups or resources.

    Parameters
    ----------
    elements
        A version (``policy/v1beta1``), a group (``policy``), or a resource of a version
        (``storage.k8s.io/v1beta1/csistoragecapacities``).

    Raises
    ------
    SimkitError
        For what the server does not serve to begin with.
    """
    settings: dict[str, bool] = {}
    for element in elements:
        group = catalogue.group(element)
        if group is not None and element:
            settings |= {f"{element}/{version}": False for version in group.versions}
        else:
            settings |= dict.fromkeys(parse(element), False)
    _check(catalogue, settings)
    return settings


def _check(catalogue: Catalogue, settings: dict[str, bool]) -> None:
    versions = {each.api_version for each in catalogue.resources()}
    resources = {f"{each.api_version}/{each.resource}" for each in catalogue.resources()}
    for key in settings:
        if key not in versions | resources:
            served = ", ".join(sorted(version for version in versions if version.startswith(key.partition("/")[0])))
            hint = f"; of that group: {served}" if served else ""
            raise SimkitError(f"release {catalogue.release} does not serve {key!r}{hint}")
