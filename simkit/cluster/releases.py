"""A server of any release: what it serves, how it differs from a real one, how a fork comes to another release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from simkit.cluster.options import Options
from simkit.engine.pipeline.served import Served
from simkit.engine.seams import Store
from simkit.meta import data
from simkit.meta.names import Key
from simkit.schema.catalogue import Catalogue, Resource
from simkit.schema.gates import settable
from simkit.schema.releases import BASE, minor_of, release_name
from simkit.schema.runtimeconfig import configured


class Limit(NamedTuple):
    """One way in which a simulated server of a release is not as a real one."""

    area: str
    text: str


LIMITS: Final = (
    Limit("versions", "as the release serves them, with its own warnings; discovery lists them in its order"),
    Limit(
        "schemas", "the release's fields; defaults, list markers and enumerations of fields that 1.30 has are 1.30's"
    ),
    Limit("conversions", "those of the newest release that had both versions"),
    Limit("storage", "objects are kept in the newest stable version of their kind, whatever the release stored"),
    Limit("validation", "1.30's rules for all releases"),
    Limit("default roles", "1.30's; what a release grants its controllers besides is not reproduced"),
    Limit("admission plugins", "1.30's, without those that came to be on by default later than the release"),
    Limit("feature gates", "1.30's names, stages and defaults"),
    Limit("protocol", "1.30's: list semantics, watches, server-side apply, status messages"),
)
"""What holds of servers of other releases than 1.30."""


def limits(release: str) -> tuple[Limit, ...]:
    """How a server of a release differs from a real one; nothing for 1.30, which is what simkit imitates."""
    return () if release_name(release) == BASE else LIMITS


def catalogue_of(options: Options) -> Catalogue:
    """What a server with these options offers before anybody defines custom resources."""
    return configured(options.release, options.runtime_config)


def absent_plugins(release: str) -> tuple[str, ...]:
    """Admission plugins that are on by default in 1.30 and were not yet in the release."""
    since: Mapping[str, str] = data.load("api/releases/admission.json")
    return tuple(name for name, first in sorted(since.items()) if minor_of(first) > minor_of(release))


def at_release(options: Options, release: str) -> Options:
    """The same options for another release; settings of versions and gates that it does not have go away."""
    name = release_name(release)
    whole = Catalogue.for_release(name, everything=True)
    kept = {key: value for key, value in options.runtime_config.items() if _known(key, whole)}
    gates = {gate: value for gate, value in options.feature_gates.items() if settable(gate, value, name)}
    return replace(options, release=name, runtime_config=kept, feature_gates=gates)


def _known(key: str, whole: Catalogue) -> bool:
    from simkit.meta.errors import SimkitError

    try:
        configured(whole.release, {key: True})
    except SimkitError:
        return False
    return True


def migrate(store: Store, old: Catalogue, new: Catalogue) -> list[Key]:
    """Rewrite what the new release keeps in another version than the old one; gives back what was rewritten.

    O(objects of the kinds whose stored version differs), which are few: most kinds are kept in the same version at
    all releases. Objects whose kind the new release does not know stay as they are.
    """
    rewritten = []
    for before, after in _moved(old, new):
        served = Served(new, after)
        for entry in store.scan(before.storage):
            obj = served.to_storage({**entry.object, "apiVersion": before.storage_gvk.api_version})
            store.put(entry.key, obj, expect=entry.revision)
            rewritten.append(entry.key)
    return rewritten


def _moved(old: Catalogue, new: Catalogue) -> Iterator[tuple[Resource, Resource]]:
    """Resources kept in different versions: the old one, and the new release's resource of the old stored version."""
    stored = {each.storage: each for each in new.stored()}
    for before in old.stored():
        after = stored.get(before.storage)
        if after is None or after.custom or after.storage_gvk == before.storage_gvk:
            continue
        same = new.kind(before.storage_gvk)
        if same is not None:
            yield before, same
