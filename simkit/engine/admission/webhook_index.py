"""An index of the webhooks of all configurations, kept up to date by the change log.

Upstream: k8s.io/apiserver/pkg/admission/plugin/webhook/accessors.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from simkit.engine.admission.candidates import CandidateView, CompiledObjects
from simkit.logic.policy.attributes import AdmissionAttributes, ClusterReader
from simkit.logic.policy.matching import Constraints
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import ADMISSION_GROUP
from simkit.meta.names import GroupResource, GroupVersionResource, Key
from simkit.meta.objects import Object, name_of
from simkit.schema.catalogue import Resource
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
        from simkit.kinds.parts.admission_expressions import environment
        from simkit.language.cel.types import BOOL
        from simkit.logic.policy.variables import compiled

        behaviour = self._behaviour
        known = environment(behaviour, strict=behaviour.applies("cost-of-functions-in-webhooks"))
        return [compiled(each.get("expression") or "", known, BOOL) for each in rows]

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
        from simkit.logic.policy.definition import conditions_hold

        bindings = _bindings(attributes, matched, reader)
        holds = conditions_hold(self._conditions, bindings, fails=not self.ignores)
        return matched if holds else None


def _bindings(attributes: AdmissionAttributes, matched: Resource, reader: ClusterReader) -> Mapping[str, Any]:
    from simkit.language.cel.lib_policies import AuthorizerValue, ResourceCheck

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


class _View(CandidateView[WebhookAccessor]):
    """The webhooks at one revision, in the order of their calls. It never changes."""

    def __init__(self, compiled: Mapping[Key, Sequence[WebhookAccessor]]) -> None:
        super().__init__()
        self._webhooks = {
            kind: [each for key in sorted(compiled) if key.resource == kind for each in compiled[key]]
            for kind in (MUTATING, VALIDATING)
        }
        self.any = any(self._webhooks.values())

    def matching(
        self, kind: GroupResource, reader: ClusterReader, operation: str, resource: GroupVersionResource, part: str
    ) -> Sequence[WebhookAccessor]:
        """The webhooks of a kind that could match a write of a resource, or of a part of it."""

        def find() -> Sequence[WebhookAccessor]:
            return [each for each in self._webhooks[kind] if each.may_match(reader, operation, resource, part)]

        return self.looked_up(reader.catalogue, (kind, operation, resource, part), find) if self.any else ()


class WebhookIndex(CompiledObjects[_View]):
    """All webhooks, by the kinds of requests that they could match.

    Notes
    -----
    After a change, the changed configuration is read again, and each webhook is asked once more about each kind of
    request.
    """

    def __init__(self, store: ListWatcher, behaviour: ServedBehaviour) -> None:
        super().__init__(store, behaviour, (MUTATING, VALIDATING), _View)

    def _compiled(self, _: GroupResource, configuration: Object) -> Sequence[WebhookAccessor]:
        return webhook_accessors(configuration, self._behaviour)

    def concerned(
        self,
        kind: GroupResource,
        reader: ClusterReader,
        operation: str,
        resource: GroupVersionResource,
        subresource: str,
    ) -> Sequence[WebhookAccessor]:
        """The webhooks, mutating or validating, that could match such a write."""
        return self.now().matching(kind, reader, operation, resource, subresource)

    def concerns(self, reader: ClusterReader, resource: GroupVersionResource, subresource: str) -> bool:
        """True if any webhook could want to see writes of a resource."""
        view = self.now()
        return any(
            view.matching(kind, reader, operation, resource, subresource)
            for kind in (MUTATING, VALIDATING)
            for operation in OPERATIONS
        )
