"""An index of the webhooks of all configurations, kept up to date by the change log.

Upstream: k8s.io/apiserver/pkg/admission/plugin/webhook/accessors.go, release 1.30.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from simkit.engine.admission.candidates import CandidateCache, ChangedKeys
from simkit.logic.policy.attributes import AdmissionAttributes, ClusterReader, equivalents
from simkit.logic.policy.matching import Constraints
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import ADMISSION_GROUP
from simkit.meta.names import GroupResource, GroupVersionResource, Key
from simkit.meta.objects import Object, name_of
from simkit.schema.catalogue import Catalogue, Resource
from simkit.seams import ListWatcher

if TYPE_CHECKING:
    from simkit.logic.policy.variables import Expression

MUTATING: Final = GroupResource(ADMISSION_GROUP, "mutatingwebhookconfigurations")
VALIDATING: Final = GroupResource(ADMISSION_GROUP, "validatingwebhookconfigurations")
EXEMPT: Final = frozenset(
    {
        MUTATING,
        VALIDATING,
        GroupResource(ADMISSION_GROUP, "validatingadmissionpolicies"),
        GroupResource(ADMISSION_GROUP, "validatingadmissionpolicybindings"),
        GroupResource(ADMISSION_GROUP, "mutatingadmissionpolicies"),
        GroupResource(ADMISSION_GROUP, "mutatingadmissionpolicybindings"),
    }
)
"""Resources that no webhook gets, since one could lock out everybody."""
OPERATIONS: Final = ("CREATE", "UPDATE", "DELETE", "CONNECT")
_SECONDS: Final = 10


class WebhookAccessor:
    """One webhook of a configuration.

    Attributes
    ----------
    uid
        Tells it from all others: configuration, name, and which of that name it is.
    ignores
        Whether a write passes where the webhook cannot be called.
    again
        Whether it wants to be called once more when others changed the object after it.
    """

    def __init__(self, configuration: str, row: Object, count: int, behaviour: ServedBehaviour) -> None:
        self.configuration, self.row, self._behaviour = configuration, row, behaviour
        self.name: str = row.get("name") or ""
        self.uid = f"{configuration}/{self.name}/{count}"
        self.ignores = row.get("failurePolicy") == "Ignore"
        self.again = row.get("reinvocationPolicy") == "IfNeeded"
        self.seconds: int = row.get("timeoutSeconds") or _SECONDS
        self.side_effects: str | None = row.get("sideEffects")
        self.versions: Sequence[str] = row.get("admissionReviewVersions") or ()
        self.client: Mapping[str, Any] = row.get("clientConfig") or {}
        self._rules: Sequence[Object] = row.get("rules") or ()
        spec = {key: row.get(key) for key in ("namespaceSelector", "objectSelector", "matchPolicy")}
        self._constraints = Constraints({**spec, "resourceRules": self._rules})

    def __repr__(self) -> str:
        return f"<Hook {self.name} of {self.configuration}>"

    @cached_property
    def _conditions(self) -> Sequence[Expression]:
        rows: Sequence[Object] = self.row.get("matchConditions") or ()
        if not rows:  # the language of expressions is only loaded where there are any
            return ()
        from simkit.kinds.parts.admission.expressions import environment
        from simkit.language.cel.types import BOOL
        from simkit.logic.policy.variables import compiled

        behaviour = self._behaviour
        known = environment(behaviour, strict=behaviour.applies("cost-of-functions-in-webhooks"))
        return [compiled(each.get("expression") or "", known, BOOL) for each in rows]

    @cached_property
    def named(self) -> frozenset[GroupResource]:
        """The resources that its rules name, where ``*`` stands for all groups or resources."""
        return frozenset(
            GroupResource(group, item.partition("/")[0])
            for rule in self._rules
            for group in rule.get("apiGroups") or ()
            for item in rule.get("resources") or ()
        )

    def may_match(
        self, reader: ClusterReader, operation: str, resource: GroupVersionResource, subresource: str
    ) -> bool:
        """True if any write of this kind could match, whatever its object."""
        return bool(self._rules) and self._constraints.may_match(reader, operation, resource, subresource)

    def match(self, attributes: AdmissionAttributes, reader: ClusterReader) -> Resource | None:
        """The resource under which the webhook matches a write; None if it does not.

        Raises the 404 StatusError of a missing namespace, ConditionsFailed for conditions that cannot be evaluated.
        """
        if not self._rules:
            return None
        matched = self._constraints.match(attributes, reader)
        if matched is None or not self._conditions:
            return matched
        from simkit.logic.policy.matchconditions import conditions_hold

        bindings = _bindings(attributes, matched, reader)
        holds = conditions_hold(self._conditions, bindings, fails=not self.ignores)
        return matched if holds else None


def _bindings(attributes: AdmissionAttributes, matched: Resource, reader: ClusterReader) -> Mapping[str, Any]:
    from simkit.language.cel.lib_authorizer import AuthorizerValue, ResourceCheck

    request = attributes.request(matched)
    return {
        "object": None if attributes.object is None else reader.convert(attributes.object, matched),
        "oldObject": None if attributes.old is None else reader.convert(attributes.old, matched),
        "request": {**request, "resource": request["requestResource"]},
        "namespaceObject": None,
        "authorizer": AuthorizerValue(attributes.identity, reader.ask),
        "authorizer.requestResource": ResourceCheck(attributes.asks(), reader.ask),
    }


def webhook_accessors(configuration: Object, behaviour: ServedBehaviour) -> Sequence[WebhookAccessor]:
    """The webhooks of a configuration."""
    counts: dict[str, int] = {}
    found = []
    for row in configuration.get("webhooks") or ():
        name = row.get("name") or ""
        found.append(WebhookAccessor(name_of(configuration), row, counts.get(name, 0), behaviour))
        counts[name] = counts.get(name, 0) + 1
    return found


_Place = tuple[str, int]
"""Name of a configuration, and number of one of its webhooks: in this order they are called."""
_Name = tuple[GroupResource, GroupResource]
"""Kind of a configuration, and a resource that a webhook names."""


class _View:
    """The webhooks at one revision. It never changes.

    Parameters
    ----------
    read
        The webhooks of each configuration that has any.
    named
        The same by what they name.
    changes
        How many changes of the store it has taken in.
    """

    def __init__(
        self,
        read: Mapping[Key, Sequence[WebhookAccessor]],
        named: Mapping[_Name, Mapping[_Place, WebhookAccessor]],
        changes: int,
    ) -> None:
        self._read, self._named, self.changes = read, named, changes
        self.any = bool(read)
        self.candidates = CandidateCache[WebhookAccessor]()

    def updated(self, configurations: Mapping[Key, Object | None], changes: int, behaviour: ServedBehaviour) -> _View:
        """The view after some configurations were written or removed."""
        read, named = dict(self._read), dict(self._named)
        left: dict[_Name, set[str]] = {}
        come: dict[_Name, dict[_Place, WebhookAccessor]] = {}
        for key, configuration in configurations.items():
            for webhook in read.pop(key, ()):
                for each in webhook.named:
                    left.setdefault((key.resource, each), set()).add(key.name)
            found = webhook_accessors(configuration, behaviour) if configuration is not None else ()
            for number, webhook in enumerate(found):
                for each in webhook.named:
                    come.setdefault((key.resource, each), {})[key.name, number] = webhook
            if found:
                read[key] = found
        for name, gone in left.items():
            named[name] = {place: webhook for place, webhook in named[name].items() if place[0] not in gone}
        for name, new in come.items():
            named[name] = {**named.get(name, {}), **new}
        return _View(read, {name: webhooks for name, webhooks in named.items() if webhooks}, changes)

    def naming(
        self, kind: GroupResource, catalogue: Catalogue, resource: GroupVersionResource, subresource: str
    ) -> Iterator[WebhookAccessor]:
        """The webhooks that name a resource, also by another version or group under which it is served, in order."""
        served = [resource, *(each.gvr for each in equivalents(catalogue, resource, subresource))]
        parts = {(group, word) for each in served for group in (each.group, "*") for word in (each.resource, "*")}
        found: dict[_Place, WebhookAccessor] = {}
        for part in parts:
            found |= self._named.get((kind, GroupResource(*part)), {})
        return (found[place] for place in sorted(found))


class WebhookIndex:
    """All webhooks, by the kinds of requests that they could match.

    Notes
    -----
    A change costs what the changed configuration holds, and a copy of references to all webhooks. What a write could
    match is found among the webhooks that name its resource.
    """

    def __init__(self, store: ListWatcher, behaviour: ServedBehaviour, known: _View | None = None) -> None:
        self._store, self._behaviour, self._lock = store, behaviour, threading.Lock()
        self._view = _View({}, {}, 0)
        self._changed = ChangedKeys(store, (MUTATING, VALIDATING))
        if known is not None:
            self._view = _View(known._read, known._named, 0)
        else:
            self._changed.add_stored()

    def _now(self) -> _View:
        """The webhooks as of now."""
        if self._view.changes != self._changed.count:
            with self._lock:
                self._take_in()
        return self._view

    def _take_in(self) -> None:
        keys, changes = self._changed.take()
        entries = {key: self._store.get(key) for key in keys}
        found = {key: entry.object if entry is not None else None for key, entry in entries.items()}
        self._view = self._view.updated(found, changes, self._behaviour)

    def fork(self, store: ListWatcher, behaviour: ServedBehaviour) -> WebhookIndex:
        """The index of a fork of the store: no configuration is read again, unless the fork behaves otherwise."""
        view = self._now()
        same = behaviour is self._behaviour and self._store.revision == store.revision
        return WebhookIndex(store, behaviour, view if same else None)

    def any(self) -> bool:
        """True if there is any webhook."""
        return self._now().any

    def concerned(
        self,
        kind: GroupResource,
        reader: ClusterReader,
        operation: str,
        resource: GroupVersionResource,
        subresource: str,
    ) -> Sequence[WebhookAccessor]:
        """The webhooks, mutating or validating, that could match such a write."""
        view = self._now()
        if not view.any:
            return ()

        def find() -> Sequence[WebhookAccessor]:
            naming = view.naming(kind, reader.catalogue, resource, subresource)
            return [each for each in naming if each.may_match(reader, operation, resource, subresource)]

        return view.candidates.of(reader.catalogue, (kind, operation, resource, subresource), find)

    def concerns(self, reader: ClusterReader, resource: GroupVersionResource, subresource: str) -> bool:
        """True if any webhook could want to see writes of a resource."""
        view = self._now()
        if not view.any:
            return False

        def find() -> Sequence[WebhookAccessor]:
            naming = (view.naming(kind, reader.catalogue, resource, subresource) for kind in (MUTATING, VALIDATING))
            concerned = (
                each
                for each in chain.from_iterable(naming)
                if any(each.may_match(reader, operation, resource, subresource) for operation in OPERATIONS)
            )
            return tuple(islice(concerned, 1))

        return bool(view.candidates.of(reader.catalogue, (resource, subresource), find))
