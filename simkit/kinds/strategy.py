"""Strategy: the record of functions for a kind's behaviour. Each has a default without effect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError
from simkit.meta.identity import Identity
from simkit.meta.name_validation import dns_subdomain
from simkit.meta.names import GroupKind
from simkit.meta.objects import Draft, Object, at
from simkit.meta.wording import Text

NameRule = Callable[[str, bool], Sequence[Text]]
"""A function of a name and whether it is only a prefix (generateName), which gives the name's errors."""


Validate = Callable[[ServedBehaviour, Object, Object | None], Iterable[FieldError]]
"""A function of an object and the stored one, or None, that returns the errors of the object at a release."""
Warnings = Callable[[ServedBehaviour, Object, Object | None], Iterable[str]]
"""A function of an object and the stored one, or None, that returns warnings for the client."""


class RowPrinter(Protocol):
    """A function that makes the cells of a Table row for an object; ``now`` is in seconds since the epoch."""

    def __call__(self, behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]: ...


def _nothing(*_: Any) -> None:
    """Change nothing."""


def _none(*_: Any) -> Any:
    """No errors, no warnings, no conditions."""
    return ()


def _no_fields(*_: Any) -> Any:
    return {}


def _never(*_: Any) -> bool:
    return False


def _always(*_: Any) -> bool:
    return True


def _same(obj: Object) -> Object:
    return obj


def selecting(*paths: str) -> Callable[[Object], Mapping[str, str]]:
    """The values of some text fields for field selectors."""
    fields = [(path, path.split(".")) for path in paths]
    return lambda obj: {path: at(obj, *steps) or "" for path, steps in fields}


def spec_differs(obj: Object, old: Object) -> bool:
    """True if anything but metadata and status changed: the usual rule for the generation."""
    names = (obj.keys() | old.keys()) - {"metadata", "status", "apiVersion", "kind"}
    return any(obj.get(name) != old.get(name) for name in names)


@dataclass(frozen=True, slots=True)
class Subresource:
    """A subresource that is a view of its parent (status, approval, ephemeralcontainers, ...).

    ``merge`` takes the draft that the client wants and the live object, and leaves in the draft only what this
    subresource may change. ``validate`` is the check of such a write, ``warnings`` what its client is told besides.
    """

    merge: Callable[[ServedBehaviour, Draft, Object], None]
    validate: Validate = _none
    warnings: Warnings = _none
    owns_all: bool = False
    """True if a client owns even what ``merge`` takes away: it is called after the managed fields are tracked."""
    creates: bool = False
    """True if a write to it makes the object where there is none."""


@dataclass(frozen=True, slots=True)
class WriteContext:
    """Context of a write: the user, the time (seconds since the epoch), and the source of new uids."""

    now: float
    identity: Identity | None
    uid: Callable[[], str]


@dataclass(frozen=True, slots=True)
class DeleteStrategy:
    """Deletion behaviour of a kind: grace period, finalizers of its own, orphaned dependents.

    References
    ----------
    ``RESTDeleteStrategy``, ``GarbageCollectionDeleteStrategy`` and ``RESTGracefulDeleteStrategy`` of
    ``k8s.io/apiserver/pkg/registry/rest/delete.go``, release 1.30.
    """

    grace_period: Callable[[Object, int | None], int] | None = None
    """The grace period in seconds, given the requested one; None: no grace period."""
    is_kept: Callable[[Object], bool] = _never
    """A predicate for objects that are kept by more than ``metadata.finalizers`` (a namespace's
    ``spec.finalizers``)."""
    prepare_for_delete: Callable[[Draft], None] = _nothing
    """Further changes when deletion begins."""
    timestamp_only: bool = False
    """True if only the deletion timestamp is set, without a grace period."""
    keeps_finalizers: bool = False
    """True if the first request to delete sets and removes no finalizers, whatever its propagation policy."""
    orphans_by_default: bool = False
    """True if dependents are orphaned by default."""
    has_dependents: bool = True
    """False if a propagation policy does nothing: ``rest.Unsupported``."""
    orphan_warning: str = ""
    """Warning for a request without a propagation policy."""
    protected: Mapping[str, str] = field(default_factory=dict)
    """Names of objects that nobody may delete, with the reason."""
    of_collection: DeleteStrategy | None = None
    """The behaviour where a collection is deleted, if it is another one."""


class MetadataCheck(NamedTuple):
    """One validation of the metadata in an update.

    ``whole`` is one like that of a new object; else it is one against the stored metadata: immutable fields.
    ``since`` and ``until`` are changes of behaviour that must apply, or not apply. ``prefix`` tells whether a whole one
    looks at ``generateName``.
    """

    whole: bool
    since: str = ""
    until: str = ""
    prefix: bool = True
    kind: bool = False
    """True if it is no validation of the metadata, but that of the kind once more."""

    def asked(self, behaviour: ServedBehaviour) -> bool:
        """True if a release has it."""
        since = not self.since or behaviour.applies(self.since)
        return since and not (self.until and behaviour.applies(self.until))


CHANGES: Final = MetadataCheck(whole=False)
"""Validation against the stored metadata: ``ValidateObjectMetaUpdate``."""
WHOLE: Final = MetadataCheck(whole=True)
"""Validation like that of a new object: ``ValidateObjectMeta``."""


def again(until: str = "") -> MetadataCheck:
    """The validation of the kind once more, in the middle of those of the metadata that follow it."""
    return MetadataCheck(whole=False, until=until, kind=True)


@dataclass(frozen=True, slots=True)
class MetadataChecks:
    """The validations of the metadata in an update, besides the one that all kinds share.

    Each reports all causes again. Measured with an invalid label, annotation, owner, finalizer, prefix and grace period
    for each kind.
    """

    before: Sequence[MetadataCheck] = (CHANGES, WHOLE)
    """In order, before the errors of the kind."""
    after: Sequence[MetadataCheck] = ()
    """... and after them."""
    part: Sequence[MetadataCheck] = (CHANGES,)
    """In a write of the status or another part."""


def checked_twice(once: str) -> MetadataChecks:
    """The checks of a kind that is validated like a new object, and then as a change, which looks at all of it again.

    Where the change of behaviour ``once`` applies the release validates the change only. Fields that may not change are
    for ``validate_last``.
    """
    whole, late = MetadataCheck(whole=True, until=once), MetadataCheck(whole=False, until=once)
    return MetadataChecks((whole, MetadataCheck(whole=False, since=once)), after=(late, again(once)))


@dataclass(frozen=True, slots=True)
class Strategy:
    """The behaviour of one kind. Functions get objects in the storage version, unless stated otherwise, and first of
    all the behaviour of the release, if what they do may depend on it.

    A draft belongs to the function for the time of the call: it is changed in place. An Object is never changed.
    """

    validate_name: NameRule = dns_subdomain
    """Validation of names."""
    validate_name_since: tuple[str, NameRule] | None = None
    """A change of behaviour, and the validation of names where it applies."""
    default: Callable[[ServedBehaviour, Draft], None] = _nothing
    """Sets defaults. Called on every write, and on decoded bodies, in the storage version."""
    prepare: Callable[[ServedBehaviour, Draft, Object | None], None] = _nothing
    """Resets fields that the client may not set and derives those of the server, before validation. ``old`` is None
    on create. The registry has already handled metadata, generation and, if it is a subresource, ``status``."""
    prepare_with_context: Callable[[ServedBehaviour, Draft, Object | None, WriteContext], None] | None = None
    """Like ``prepare`` and after it, for kinds that record the user or the time of a write."""
    validate: Validate = _none
    """Validation, in the order of kube-apiserver; with ``old`` also of immutable fields."""
    validate_first: Validate = _none
    """Validation of the written object that comes before that of its metadata by the kind."""
    checks_new_metadata: bool = True
    """False if the kind does not look at the metadata of new objects: what all kinds share is checked at the end, if
    nothing else is wrong."""
    checks_new_once: Callable[[ServedBehaviour], bool] = _always
    """A predicate: the served release checks a new object once, and does not tell each cause twice."""
    validate_last: Callable[[ServedBehaviour, Object, Object], Iterable[FieldError]] = _none
    """Validation of a change that comes after all other: fields that may not change."""
    validate_in_namespace: Callable[[ServedBehaviour, Object, Mapping[str, str]], Iterable[FieldError]] | None = None
    """Validation of a new object against the labels of its namespace, before all other."""
    canonicalize: Callable[[Draft], None] = _nothing
    """Brings the object into its stored form, after validation and before validating admission."""
    raises_generation: Callable[[Object, Object], bool] | None = None
    """A predicate for updates that raise ``metadata.generation``, not asked for the status; None: no generation."""
    has_generation: Callable[[ServedBehaviour], bool] = _always
    """A predicate: objects have a generation at the served release, if ``raises_generation`` is given."""
    counts_empty_parts: bool = False
    """True if the generation is raised by empty lists and maps too, which nothing stores: by each write of them."""
    counts_dropped_fields: bool = False
    """True if the generation is raised before the fields of disabled features are dropped, and so by them alone."""
    empty: Object = field(default_factory=dict)
    """The values that an object without any has in kube-apiserver, as bookmarks of watches show it, besides zeroes."""
    version_annotations: frozenset[str] = frozenset()
    """Annotations that a version writes for fields that it lacks. Tables and partial metadata are without them."""
    selectable_fields: Callable[[Object], Mapping[str, str]] = _no_fields
    """Values for field selectors besides ``metadata.name`` and ``metadata.namespace``."""
    print_row: RowPrinter | None = None
    """Cells of a Table row; None: the columns from ``datasets``."""
    print_row_conditions: Callable[[Object], Sequence[Object]] = _none
    """Conditions of a Table row (``Completed``)."""
    row_sort_key: Callable[[Object], Any] | None = None
    """Sort key of Table rows; None: the order of the objects."""
    subresources: Mapping[str, Subresource] | None = None
    """Special subresources by name; ``status`` works without an entry here."""
    warnings: Warnings = _none
    """Warnings returned to the client of a write."""
    metadata_checks: MetadataChecks = MetadataChecks()
    """The validations of the metadata in an update."""
    unqualified_finalizers: bool = False
    """True if finalizers need no domain: kinds of apiextensions and custom ones."""
    allow_create_on_update: bool = False
    """True if PUT of an absent object creates it."""
    stores_defaults_late: Callable[[Object], bool] | None = None
    """A predicate for prepared objects that are stored without their defaults, which every read adds: each update of
    such an object stores it anew. Asked before the defaults are set; None: never."""
    reset_fields: Callable[[ServedBehaviour], Mapping[str, Sequence[str]]] = _no_fields
    """The fields (``spec``, ``status.phase``) that a write through a subresource (empty: the main resource) does not
    change and so nobody owns, at the served release. Where a subresource is missing: the status through the main
    resource, all else through ``status``."""
    wipes_status: Callable[[ServedBehaviour], bool] = _always
    """A predicate: the status is written through its subresource only, at the served release."""
    allow_unconditional_update: bool = True
    """False if an update must carry a resourceVersion."""
    return_deleted_object: bool = False
    """True if DELETE returns the object instead of a Status."""
    tells_no_object: Callable[[ServedBehaviour], bool] = _never
    """A predicate: DELETE returns a Status whatever becomes of the object, at the served release."""
    status_reset_fields: Sequence[tuple[str, ...]] = ()
    """Fields besides the spec that a write of the status does not change, and whose managers it does not change."""
    keeps_status_on_create: bool = False
    """True if a status in a create request is kept (the kind has a status field but resets nothing)."""
    delete_strategy: DeleteStrategy = DeleteStrategy()
    """Deletion behaviour."""
    older_versions: Mapping[str, Strategy] | None = None
    """Strategies of older versions by ``apiVersion``, if they differ."""
    from_storage: Callable[[Object], Object] = _same
    """Converts a stored object to the version of the request. Only custom kinds need it: their writes are validated in
    the version of the request, and converted to the storage version at the end."""
    to_storage: Callable[[Object], Object] = _same
    """Converts a validated object to the storage version."""

    def name_rule(self, behaviour: ServedBehaviour) -> NameRule:
        """The validation of names at a release."""
        since = self.validate_name_since
        return since[1] if since is not None and behaviour.applies(since[0]) else self.validate_name

    def creates_on_update(self, subresource: str) -> bool:
        """True if PUT to the main resource (empty) or a subresource creates an absent object."""
        if not subresource:
            return self.allow_create_on_update
        special = (self.subresources or {}).get(subresource)
        return special is not None and special.creates


DEFAULT_STRATEGY = Strategy()
"""The strategy of a kind without behaviour of its own."""


_HERE = Path(__file__).parent


@cache
def strategy_of(kind: GroupKind) -> Strategy:
    """The strategy of a built-in kind; ``DEFAULT_STRATEGY`` if it has no behaviour of its own.

    It is the constant ``STRATEGY`` of ``kinds/<first part of the group>/<kind in lower case>.py``, or stands in the
    table ``STRATEGIES`` of ``<group>/simple_kinds.py`` or, where a group has no folder, of ``<group>.py``.
    """
    group = kind.group.split(".")[0] if kind.group else "core"
    name = kind.kind.lower()
    if (_HERE / group / f"{name}.py").is_file():
        own: Strategy = import_module(f"simkit.kinds.{group}.{name}").STRATEGY
        return own
    for shared in (f"{group}/simple_kinds", group):
        if (_HERE / f"{shared}.py").is_file():
            table: Mapping[str, Strategy] = import_module(f"simkit.kinds.{shared.replace('/', '.')}").STRATEGIES
            return table.get(kind.kind, DEFAULT_STRATEGY)
    return DEFAULT_STRATEGY
