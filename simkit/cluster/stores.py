"""The stores that ``--storage`` can name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from simkit.meta.clock import Clock, SystemClock
from simkit.meta.distribution import install_hint
from simkit.meta.errors import SimkitError
from simkit.meta.objects import Object

if TYPE_CHECKING:
    from simkit.cluster.options import Options
    from simkit.seams import Store


class StoreKind(NamedTuple):
    """One sort of store. Its modules are imported when one is opened."""

    form: str
    """Its form in ``--storage``; only stores with a path or an address last."""
    help: str
    open: Callable[[Options, Clock, str], Store]
    """Opens a store, given the options, the clock, and the path or address."""


def new_store(options: Options) -> Store:
    """The store that the options name.

    Raises
    ------
    SimkitError
        For one that is unknown or cannot be opened.
    """
    kind, _, place = options.storage.partition(":")
    found = STORES.get(kind)
    if found is None or (":" in found.form) != bool(place):
        forms = [each.form for each in STORES.values()]
        raise SimkitError(f"--storage {options.storage!r} is not known; use {', '.join(forms[:-1])} or {forms[-1]}")
    return found.open(options, options.clock or SystemClock(), place)


def lasting_forms() -> str:
    """The forms of the stores that last."""
    return " or ".join(each.form for each in STORES.values() if ":" in each.form)


def is_lasting(storage: str) -> bool:
    """True if a text names a store that lasts."""
    kind, _, place = storage.partition(":")
    return kind in STORES and bool(place)


def _memory(options: Options, clock: Clock, place: str) -> Store:
    from simkit.engine.storage.memory import MemoryStore

    return MemoryStore(clock)


def _sqlite(options: Options, clock: Clock, place: str) -> Store:
    from simkit.engine.storage.sqlite import open_store

    return open_store(place, clock, check=lambda obj: _wrong_type(obj, options.release))


def _wrong_type(obj: Object, release: str) -> str:
    """The first field of a stored object that has a wrong type, with which it would stop whoever reads it."""
    from simkit.snapshot.field_types import first_mismatch

    if not isinstance(obj.get("apiVersion"), str) or not isinstance(obj.get("kind"), str):
        return "it has no kind"
    found = first_mismatch(obj, release)
    return "" if found is None else str(found)


def _etcd(options: Options, clock: Clock, place: str) -> Store:
    """The store in an etcd that is running."""
    try:
        from simkit.engine.storage.etcd import open_store  # gRPC only where it is asked for
        from simkit.snapshot.etcd.encryption import read_encryption
        from simkit.snapshot.etcd.endpoints import EtcdEndpoints
        from simkit.snapshot.etcd.layout import Layout
        from simkit.snapshot.etcd.values import Values
    except ModuleNotFoundError as error:
        raise SimkitError(f"a store in etcd needs {error.name}: {install_hint('etcd')}") from error
    from simkit.schema.catalogue import Catalogue

    if not isinstance(clock, SystemClock):
        raise SimkitError("a store in etcd runs on the machine's clock, since others use it too; leave the clock out")
    endpoints = EtcdEndpoints(
        place.split(","), options.etcd_prefix, options.etcd_cafile, options.etcd_certfile, options.etcd_keyfile
    )
    catalogue = Catalogue.for_release(options.release, everything=True)
    configuration = options.encryption_provider_config
    values = Values(catalogue, read_encryption(configuration) if configuration is not None else None)
    leases = {catalogue.lookup("events").storage: options.event_ttl}
    return open_store(endpoints, Layout.of(endpoints.root, catalogue), values, clock, leases)


STORES: Final[Mapping[str, StoreKind]] = {
    "memory": StoreKind("memory", "the default", _memory),
    "sqlite": StoreKind("sqlite:PATH", "a file that lasts", _sqlite),
    "etcd": StoreKind("etcd:URL[,URL]", "which several servers may share", _etcd),
}
"""The stores by the first word of ``--storage``."""
