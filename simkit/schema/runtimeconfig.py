"""``--runtime-config``: API versions and resources switched on or off against the defaults of the release."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from simkit.meta import datasets
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import API_DOMAIN
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource
from simkit.schema import lifecycle
from simkit.schema.behaviour import behaviour_of
from simkit.schema.catalogue import Catalogue, Resource
from simkit.schema.feature_gates import closed_subresources, is_enabled, parse_feature_gates

_NO_GATES: Final[Mapping[str, bool]] = MappingProxyType({})

_SWEEPING: Final[Mapping[str, Callable[[str], bool]]] = {
    "api/all": lambda version: bool(version),
    "api/ga": lambda version: "alpha" not in version and "beta" not in version,
    "api/beta": lambda version: "beta" in version,
    "api/alpha": lambda version: "alpha" in version,
}
"""Keys that stand for many versions, each applied before the next; named versions and resources come after them."""


def parse(text: str) -> dict[str, bool]:
    """The settings in the value of the flag; a key without a value is on.

    Examples
    --------
    >>> parse("api/all=false,apps/v1,storage/v1beta1/csistoragecapacities=true")
    {'api/all': False, 'apps/v1': True, 'storage/v1beta1/csistoragecapacities': True}
    """
    found = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        key, _, value = item.partition("=")
        if value not in ("", "true", "false"):
            raise SimkitError(f"--runtime-config: {item!r}: the value must be true or false")
        found[key] = value != "false"
    return found


def configured(release: str, settings: Mapping[str, bool], gates: Mapping[str, bool] = _NO_GATES) -> Catalogue:
    """The catalogue of a release under the settings, without resources and subresources whose feature gates are off.

    Parameters
    ----------
    settings
        Which versions and resources are on or off against their defaults, by key.
    gates
        The settings of ``--feature-gates``.

    Raises
    ------
    SimkitError
        For a key that names nothing which the release has, and when nothing would be served.

    Notes
    -----
    Groups may be written without their domain. A resource that 1.16 took out of a version that it went on serving
    is switched on by its own name alone.

    Examples
    --------
    >>> configured("1.30", {"batch/v1": False}).lookup("jobs.batch")
    Traceback (most recent call last):
    simkit.meta.errors.UnknownResource: no resource 'jobs.batch' at release 1.30
    """
    parts = frozenset(closed_subresources(release, gates))
    found = _configured(release, tuple(sorted(settings.items())), frozenset(_closed(release, gates)), parts)
    return _under(found, behaviour_of(found.release, parse_feature_gates(gates, release).values))


@lru_cache(maxsize=64)
def _under(catalogue: Catalogue, behaviour: ServedBehaviour) -> Catalogue:
    return catalogue.with_behaviour(behaviour)


def gates_that_are_missing(release: str, settings: Mapping[str, bool], gates: Mapping[str, bool]) -> Iterator[str]:
    """A sentence for each resource that the settings switch on, and that is not served since its gate is off."""
    closed = _closed(release, gates)
    if closed and settings:
        offered = {
            each.group_resource: each for each in _configured(release, tuple(sorted(settings.items()))).resources()
        }
        for resource, gate in closed.items():
            if resource in offered:
                yield f"{offered[resource]} are not served: the feature gate {gate} is off"


def _closed(release: str, gates: Mapping[str, bool]) -> Mapping[GroupResource, str]:
    """The resources that feature gates keep out of a release, with the gates."""
    values = parse_feature_gates(gates, release).values
    table: Mapping[str, str] = datasets.load("api/releases/gated-resources.json")
    found = ((GroupResource(*key.split()), gate) for key, gate in table.items())
    return {resource: gate for resource, gate in found if not is_enabled(gate, release, values)}


@lru_cache(maxsize=64)
def _configured(
    release: str,
    settings: tuple[tuple[str, bool], ...],
    closed: frozenset[GroupResource] = frozenset(),
    closed_parts: frozenset[str] = frozenset(),
) -> Catalogue:
    if closed:
        found = _configured(release, settings, closed_parts=closed_parts)
        there = any(each.group_resource in closed for each in found.resources())
        return found.without(lambda resource: resource.group_resource in closed) if there else found
    if not settings and closed_parts == closed_subresources(release, {}):
        return Catalogue.for_release(release)
    if settings == (("api/all", False),):
        raise SimkitError("--runtime-config: invalid key with only api/all=false: nothing would be served")
    whole = Catalogue.for_release(release, everything=True)
    versions, resources = _named(dict(settings), whole)

    def offered(resource: Resource) -> bool:
        on = resource.enabled_by_default
        for key, covers in _SWEEPING.items():
            if covers(resource.version):
                on = dict(settings).get(key, on) if _by_version(resource) else on
        if _by_version(resource) or not versions.get(resource.api_version, True):
            on = versions.get(resource.api_version, on)
        return resources.get((resource.api_version, resource.resource), on)

    return whole.without(lambda resource: not offered(resource)).without_subresources(closed_parts)


def _by_version(resource: Resource) -> bool:
    """True if switching its version on switches the resource on."""
    taken_out = lifecycle.default(resource.api_version, resource.resource) == "since1.16"
    return not (taken_out and resource.group == "extensions")


def _named(settings: Mapping[str, bool], whole: Catalogue) -> tuple[Mapping[str, bool], Mapping[tuple[str, str], bool]]:
    """The settings of versions and of resources, under the full names of their groups."""
    versions: dict[str, bool] = {}
    resources: dict[tuple[str, str], bool] = {}
    known = {each.api_version for each in whole.resources()}
    short = {_short(version): version for version in known} | {"api/v1": "v1"}
    for key, value in settings.items():
        if key in _SWEEPING:
            continue
        version, plural = _split(key, known, short)
        if version is None or (plural and whole.find(*_parts(version), plural) is None):
            raise _unknown(key, whole, [*_SWEEPING, *known])
        if plural:
            resources[version, plural] = value
        else:
            versions[version] = value
    return versions, resources


def _split(key: str, known: Iterable[str], short: Mapping[str, str]) -> tuple[str | None, str]:
    """The version of a key, and the resource after it."""
    names = {**short, **{version: version for version in known}}
    if key in names:
        return names[key], ""
    head, _, plural = key.rpartition("/")
    return names.get(head), plural


def _short(api_version: str) -> str:
    """The version with its group's name up to the domain: ``storage/v1beta1``."""
    group, slash, version = api_version.rpartition("/")
    return f"{group.removesuffix(f'.{API_DOMAIN}')}{slash}{version}"


def _parts(api_version: str) -> tuple[str, str]:
    group, _, version = api_version.rpartition("/")
    return group, version


def _unknown(key: str, whole: Catalogue, known: list[str]) -> SimkitError:
    from difflib import get_close_matches  # for wrong names alone

    near = get_close_matches(key, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return SimkitError(f"--runtime-config: release {whole.release} has no {key!r}{hint}")
