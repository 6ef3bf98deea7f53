"""Writes and deletions, as the verbs hand them to the registry.

Upstream: k8s.io/apiserver/pkg/registry/rest/update.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from simkit.engine.seams import Entry, Intent
from simkit.kinds.strategy import DeleteStrategy, Strategy
from simkit.meta.fielderror import FieldError
from simkit.meta.frozen_init import quickly_made
from simkit.meta.identity import Identity
from simkit.meta.names import GroupKind, GroupResource, Key
from simkit.meta.objects import Draft, Object


def _untracked(live: Object | None, wanted: Draft) -> Draft:
    return wanted


def _keep_all_fields(draft: Draft, old: Object | None, subresource: str) -> None:
    """The default: keep every field."""


def _unchanged(wanted: Draft, live: Object | None) -> Draft:
    return wanted


def _all_allowed(obj: Object, live: Object) -> Sequence[FieldError]:
    """The default: the user may change every part."""
    return ()


def _accepted(obj: Object, live: Object | None) -> None:
    """The default: no objection."""


@dataclass(frozen=True, slots=True)
class RegistryScope:
    """The resource of a write, and the strategy of its kind."""

    resource: GroupResource
    """The resource under which the objects are stored."""
    kind: GroupKind
    namespaced: bool
    strategy: Strategy
    has_status: bool
    """True if ``status`` is written through its own subresource only."""
    drop_disabled_fields: Callable[[Draft, Object | None, str], None] = _keep_all_fields
    """A function that drops disabled fields from a draft, given the stored object and the subresource of the write."""

    requested: GroupResource | None = None
    """The resource that the request names, where it is not the stored one."""

    @property
    def told_resource(self) -> GroupResource:
        """The resource as errors name it."""
        return self.requested or self.resource

    def key(self, namespace: str, name: str) -> Key:
        return Key(self.resource, namespace if self.namespaced else "", name)


@quickly_made
@dataclass(frozen=True, slots=True)
class Write:
    """One write: the intent, and the functions between the intent and the store.

    ``track`` keeps field ownership, ``mutate`` and ``validate`` are admission. They run against the object that is
    really stored, again for every try. ``permit_create`` says whether the caller may create where an update finds
    nothing; it raises the refusal.
    """

    scope: RegistryScope
    key: Key
    intent: Intent
    subresource: str = ""
    dry_run: bool = False
    uid: str = ""
    """The uid that the live object must have; empty: any."""
    creates: bool = False
    """True if the write makes the object where there is none."""
    track: Callable[[Object | None, Draft], Draft] = _untracked
    mutate: Callable[[Draft, Object | None], Draft] = _unchanged
    validate: Callable[[Object, Object | None], None] = _accepted
    permit_create: Callable[[], None] = lambda: None
    refused_parts: Callable[[Object, Object], Sequence[FieldError]] = _all_allowed
    """The errors of parts that the user may not change, given the wanted and the live object; they come first."""
    identity: Identity | None = None
    """The user of the write, for kinds that store it."""


@quickly_made
@dataclass(frozen=True, slots=True)
class Deletion:
    """One deletion. ``validate`` is admission, called with the object that is really stored."""

    scope: RegistryScope
    key: Key
    validate: Callable[[Object], None]
    dry_run: bool = False
    grace_seconds: int | None = None
    propagation: str = ""
    """Foreground, Background, Orphan, or empty for the kind's default."""
    uid: str | None = None
    resource_version: str | None = None
    """The resourceVersion that the object must have; None: any."""
    collection: bool = False
    """True if it is one of many: kube-apiserver's storage of a kind is then asked past what is special about it."""

    @property
    def strategy(self) -> DeleteStrategy:
        """The behaviour of the kind in this deletion."""
        strategy = self.scope.strategy.delete_strategy
        return strategy.of_collection or strategy if self.collection else strategy


@quickly_made
@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a write. On a dry run the entry is not stored."""

    entry: Entry
    created: bool = False
    removed: bool = False
    """True if the object is removed."""
    finished: bool = True
    """True if nothing keeps a deleted object any more."""
    extra: Any = None
