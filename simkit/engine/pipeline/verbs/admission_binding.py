"""Admission and managed fields as callables for the registry's write.

Upstream: k8s.io/apiserver/pkg/endpoints/handlers/create.go and k8s.io/apiserver/pkg/endpoints/handlers/update.go,
release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from simkit.client.resources import NAMESPACES, SIGNING_REQUESTS
from simkit.engine.authz.rbac import forbidden_error
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.options import WriteOptions
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.pipeline.verbs import request_object
from simkit.engine.registry.write import Write, untracked
from simkit.kinds.apiextensions.definition import NO_NEW_ONES, CustomVersion
from simkit.kinds.apiextensions.validation.defaults import has_unknown
from simkit.kinds.parts.devices.device import device_key
from simkit.language.merge.fieldset import EMPTY, Fields, of_paths
from simkit.language.merge.managedfields import BadManagedFields, Record, read
from simkit.language.merge.structure import structure
from simkit.language.merge.update import track_update
from simkit.language.merge.versions import Converter
from simkit.meta.attributes import Attributes, Verdict
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import timestamp
from simkit.meta.domain import RBAC_GROUP, api_group, label
from simkit.meta.errors import bad_request, forbidden
from simkit.meta.fielderror import FieldError, forbidden_field, quoted
from simkit.meta.frozen_init import quickly_made
from simkit.meta.identity import Identity
from simkit.meta.name_validation import dns_subdomain
from simkit.meta.names import GroupResource, GroupVersion, Key
from simkit.meta.objects import Draft, Object, at, labels_of, metadata, name_of
from simkit.schema.decoding import DecodeError, with_empty_parts
from simkit.schema.structural import Schema
from simkit.seams import Authorizer, Intent, Operation, Review

# Rights that a write of the status of a resource claim needs besides that of the request.
# Upstream: pkg/registry/resource/utils.go and pkg/registry/resource/resourceclaim/strategy.go, release 1.36.

_NODE_NAME: Final = label("node-name", "authentication")
_ASSOCIATED: Final = "associated-node:"
_ARBITRARY: Final = "arbitrary-node:"
_BOUND: Final = "changing status.allocation or status.reservedFor"


def refused_claim_status(
    behaviour: ServedBehaviour, ask: Attributes, authorizer: Authorizer, claim: Object, old: Object
) -> list[FieldError]:
    """The errors of what the user of a request may not change in the status of a claim.

    Who changes what is allocated, or for whom, needs the right to the virtual subresource ``binding`` in all
    namespaces. Who changes what is told about the devices of a driver needs a right to ``driver`` of its name.
    """
    status, before = claim.get("status") or {}, old.get("status") or {}
    errors = _refused_binding(ask, authorizer, status, before)
    if status.get("allocation") is not None and behaviour.applies("drivers-tell-status-of-devices"):
        errors += _refused_devices(ask, authorizer, status, before)
    return errors


def _refused_binding(ask: Attributes, authorizer: Authorizer, status: Object, before: Object) -> list[FieldError]:
    if all(_plain(status.get(part)) == _plain(before.get(part)) for part in ("allocation", "reservedFor")):
        return []
    refused = _refusal(authorizer, replace(ask, subresource="binding", namespace="", name=""))
    if not refused:
        return []
    needed = f'requires resource="resourceclaims/binding", verb="{ask.verb}" permission'
    return [forbidden_field("status.allocation", f"{_BOUND} {needed}: {refused}")]


def _refused_devices(ask: Attributes, authorizer: Authorizer, status: Object, before: Object) -> list[FieldError]:
    verbs = [f"{_ARBITRARY}{ask.verb}"]
    if _is_on_node(ask.identity, _node_of(status["allocation"])):
        verbs.insert(0, f"{_ASSOCIATED}{ask.verb}")
    needed = f'requires resource="resourceclaims/driver", verb="[{" ".join(verbs)}]" permission'
    errors = []
    for driver in _changed_drivers(status.get("devices") or (), before.get("devices") or ()):
        asked = [replace(ask, verb=verb, subresource="driver", name=driver) for verb in verbs]
        refused = [_refusal(authorizer, each) for each in asked]
        if all(refused):
            errors.append(forbidden_field("status.devices", f"changing status.devices {needed}: {refused[0]}"))
    return errors


def _changed_drivers(devices: Sequence[Object], before: Sequence[Object]) -> list[str]:
    """The drivers with a device of which something else is told now, sorted."""
    then = {device_key(device): _plain(device) for device in before}
    now = {device_key(device): _plain(device) for device in devices}
    changed = [key for key in then.keys() | now.keys() if then.get(key) != now.get(key)]
    return sorted({driver for driver, *_ in changed}, key=str.encode)


def _plain(value: Any) -> Any:
    """A value in which empty lists and missing fields are the same."""
    if isinstance(value, Mapping):
        found = {name: _plain(item) for name, item in value.items()}
        return {name: item for name, item in found.items() if item is not None}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value] or None
    return value


def _node_of(allocation: Object) -> str:
    """The node on which alone an allocation can be used; empty for any other."""
    terms = at(allocation, "nodeSelector", "nodeSelectorTerms") or []
    fields = [field for term in terms for field in term.get("matchFields") or ()]
    if len(terms) != 1 or terms[0].get("matchExpressions") or len(fields) != 1:
        return ""
    values = fields[0].get("values") or []
    named = fields[0].get("key") == "metadata.name" and fields[0].get("operator") == "In"
    return values[0] if named and len(values) == 1 else ""


def _is_on_node(identity: Identity, node: str) -> bool:
    """True for a service account whose token is bound to a node."""
    told = tuple(identity.extra.get(_NODE_NAME, ()))
    return bool(node) and identity.service_account is not None and told == (node,) and not dns_subdomain(node)


def _refusal(authorizer: Authorizer, ask: Attributes) -> str:
    """The message of a refusal; empty if the user may."""
    decision = authorizer.authorize(ask)
    if decision.allowed:
        return ""
    return forbidden_error(ask, ": ".join(filter(None, (decision.error, decision.reason)))).message


_INVALID_OWNERS: Final = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating "
    "admission controller; please fix your requests"
)


@quickly_made
@dataclass(frozen=True, slots=True)
class AdmissionBinding:
    """Admission, escalation check and authorization of one request's write, bound to that request."""

    engine: Engine
    context: RequestContext
    scope: RequestScope
    dry_run: bool
    options: Object

    def review(self, operation: Operation, obj: Object | None, old: Object | None) -> Review:
        """The write as attributes for admission."""
        info = self.context.info
        name = info.name or (name_of(obj) if obj is not None else "")
        return Review(
            self.engine.behaviour,
            self.context.actor(),
            operation,
            self.scope.registry_scope.resource,
            self.scope.resource.version,
            info.subresource,
            self.scope.resource.gvk,
            info.namespace,
            name,
            obj,
            old,
            self.options,
            self.dry_run,
            self.context.warnings,
            self.context.annotations,
        )

    def mutate(self, wanted: Draft, live: Object | None) -> Draft:
        """The wanted object after the escalation check and the mutating plugins."""
        review = self.review("CREATE" if live is None else "UPDATE", wanted, live)
        _forbid_new(self.engine.behaviour, self.scope.custom, review)
        mutated = self._with_valid_owners(dict(self.engine.admission.mutate(review)), metadata(wanted))
        request_object.deduplicate(mutated, self.context.warnings, admitted=True)
        self.guard(mutated, live)
        return mutated

    def _with_valid_owners(self, mutated: Draft, before: Object) -> Draft:
        """The object with the managed fields that it had before, if a plugin left them invalid."""
        if metadata(mutated).get("managedFields") == before.get("managedFields"):
            return mutated
        try:
            read(metadata(mutated).get("managedFields") or ())
        except BadManagedFields as wrong:
            self.context.warnings.append(f"{_INVALID_OWNERS}: {wrong}")
            kept = {name: value for name, value in metadata(mutated).items() if name != "managedFields"}
            owners = {name: before[name] for name in ("managedFields",) if name in before}
            return {**mutated, "metadata": {**kept, **owners}}
        return mutated

    def validate(self, obj: Object, live: Object | None) -> None:
        """Run the validating plugins; the kind's own warnings come first, even if a plugin refuses."""
        self.context.warnings += self._warnings(obj, live)
        self.engine.admission.validate(self.review("CREATE" if live is None else "UPDATE", obj, live))

    def _warnings(self, obj: Object, live: Object | None) -> Sequence[str]:
        subresource, strategy = self.context.info.subresource, self.scope.strategy
        special = (strategy.subresources or {}).get(subresource) if subresource and live is not None else strategy
        found = list(special.warnings(self.engine.behaviour, obj, live)) if special is not None else []
        return found if found and self.engine.behaviour.applies("writers-warned") else ()

    def validate_delete(self, live: Object) -> None:
        """Run the validating plugins for a deletion."""
        self.engine.admission.validate(self.review("DELETE", None, live))

    def guard(self, obj: Object, live: Object | None) -> None:
        """Run the escalation check on a role or binding. Raises 403."""
        resource = self.scope.registry_scope.resource
        if resource.group != RBAC_GROUP:
            return
        if resource.resource in ("roles", "clusterroles"):
            name = self.context.info.name
            self.engine.guard.check_role(self.context.actor(), obj, live, requested_name=name)
        else:
            self.engine.guard.check_binding(self.context.actor(), obj, live)

    def refused_parts(self, obj: Object, live: Object) -> Sequence[FieldError]:
        """The errors of parts of an object that its user may not change: of the status of a resource claim."""
        if self.scope.registry_scope.resource != _DEVICE_CLAIMS or self.context.info.subresource != "status":
            return ()
        namespace = self.engine.store.get(Key(NAMESPACES, "", self.context.info.namespace))
        from simkit.kinds.resource.resourceclaim import admin_status_errors

        errors = admin_status_errors(
            self.engine.behaviour, obj, live, labels_of(namespace.object) if namespace is not None else {}
        )
        if self.engine.behaviour.applies("status-of-claims-needs-rights"):
            ask = self.context.info.asks(self.engine.behaviour, self.context.actor())
            errors += refused_claim_status(self.engine.behaviour, ask, self.engine.authorizer, obj, live)
        return errors

    def permit_create(self) -> None:
        """Check that the user may create, for an update that creates. Raises 403."""
        info = self.context.info
        ask = replace(info.asks(self.engine.behaviour, self.context.actor()), verb="create")
        decision = self.engine.authorizer.authorize(ask)
        if decision.verdict is not Verdict.ALLOW:
            if self.engine.behaviour.applies("write-parts-told-in-full"):
                raise forbidden_error(ask, decision.reason)
            raise forbidden(self.scope.resource.group_resource, info.name, decision.reason)


def _forbid_new(behaviour: ServedBehaviour, custom: CustomVersion | None, review: Review) -> None:
    """Raises 403 for the admission of a new object of a terminating definition."""
    if custom is None or review.operation != "CREATE" or review.subresource or not custom.definition.is_terminating:
        return
    if behaviour.applies("terminating-definition-forbids"):
        raise forbidden(review.resource, review.name, NO_NEW_ONES)


def write_of(
    engine: Engine,
    context: RequestContext,
    scope: RequestScope,
    options: WriteOptions,
    intent: Intent,
    *,
    tracked: bool = True,
    creates: bool = False,
    uid: str = "",
) -> Write:
    """The write of a request: its intent with admission, and with the tracker of managed fields if it is tracked."""
    info, admission = context.info, AdmissionBinding(engine, context, scope, options.dry_run, options.as_object)
    return Write(
        scope.registry_scope,
        scope.registry_scope.key(info.namespace, info.name),
        intent,
        info.subresource,
        options.dry_run,
        uid,
        creates,
        managed_fields_tracker(engine, scope, options, info.subresource) if tracked else untracked,
        admission.mutate,
        admission.validate,
        admission.permit_create,
        admission.refused_parts,
        context.actor(),
        partial(_whole, context, scope),
    )


def _whole(context: RequestContext, scope: RequestScope, obj: Object) -> Object:
    """The object of a write with the empty parts that the request has; the same object for custom kinds."""
    apart = scope.custom is not None or (scope.spoke.reshapes and not scope.is_storage_version)
    return obj if apart else with_empty_parts(obj, context.sent, scope.schema)


_FORMS: Final = 128
"""The records of new objects that are kept for a resource."""
_DEVICE_CLAIMS: Final = GroupResource(api_group("resource"), "resourceclaims")
_STATUS: Final = of_paths(("f:status",))


def reset_fields(scope: RequestScope, subresource: str) -> Fields:
    """The fields that an endpoint resets: a write there does not own them."""
    unwritten = scope.strategy.reset_fields(scope.behaviour).get(subresource)
    if unwritten is not None:
        return of_paths(*(tuple(f"f:{step}" for step in name.split(".")) for name in unwritten))
    if not scope.resource.has_status:
        return EMPTY
    if subresource == "status":
        names = [name for name in scope.schema.fields if name not in ("status", "metadata", "kind", "apiVersion")]
        kept = (tuple(f"f:{step}" for step in path) for path in scope.strategy.status_reset_fields)
        return of_paths(*((f"f:{name}",) for name in names), *kept)
    return _STATUS if scope.registry_scope.resource != SIGNING_REQUESTS else of_paths(("f:status",), ("f:spec",))


def _known_reset_fields(scope: RequestScope, subresource: str) -> Fields:
    """The same, found once for each endpoint."""
    found = scope.reset_fields.get(subresource)
    if found is None:
        found = scope.reset_fields[subresource] = reset_fields(scope, subresource)
    return found


def converter(scope: RequestScope) -> Converter | None:
    """A converter for managed fields in other versions of the kind; None if there is one version only."""
    if not scope.has_shapes:
        return None

    def convert(obj: Object, api_version: str) -> tuple[Object, Schema | None] | None:
        group, version = GroupVersion.parse(api_version)
        resource = scope.catalogue.find(group, version, scope.resource.resource)
        if resource is None:
            return None
        other = scope.beside(resource)
        if other.custom is not None:
            return _converted(other.custom, obj), other.schema
        try:
            return other.from_storage(_scope_of(obj, scope).to_storage(_filled(obj))), other.schema
        except DecodeError as error:  # an intent is not read as the kind before its owners are settled
            kind, own = scope.resource.kind, scope.resource.gvk.version
            raise bad_request(f"{kind} in version {quoted(own)} cannot be handled as a {kind}: {error}") from None

    return convert


def _scope_of(obj: Object, scope: RequestScope) -> RequestScope:
    """The scope of an object's own version: pruning converts what it has converted before."""
    api_version = obj.get("apiVersion") or scope.resource.api_version
    if api_version == scope.resource.api_version:
        return scope
    resource = scope.catalogue.find(*GroupVersion.parse(api_version), scope.resource.resource)
    return scope if resource is None else scope.beside(resource)


def _filled(value: Any) -> Any:
    """A value with null list elements replaced by empty objects, as the kind's decoder does."""
    if isinstance(value, Mapping):
        return {name: _filled(item) for name, item in value.items()}
    return [_filled({} if item is None else item) for item in value] if isinstance(value, list) else value


class _Unfit(Exception):
    """An object that does not fit another version's schema, so that managers in that version cannot be compared."""


def _converted(other: CustomVersion, obj: Object) -> Object:
    """A custom object in another version. Raises _Unfit for fields unknown to the version."""
    found = other.definition.converted([obj], other)
    content = {name: value for name, value in (found or [obj])[0].items() if name != "metadata"}
    if found is None or has_unknown(content, other.schema):
        raise _Unfit(other.api_version)
    return found[0]


def managed_fields_tracker(
    engine: Engine, scope: RequestScope, options: WriteOptions, subresource: str
) -> Callable[[Object | None, Draft], Draft]:
    """The tracker of ``managedFields`` for a write that is not an apply."""
    schema: Schema = scope.schema

    def track(live: Object | None, wanted: Draft) -> Draft:
        now = timestamp(engine.clock.now())
        before = scope.from_storage(live) if live is not None else None
        after = scope.as_written(wanted)
        try:
            fields = created(after, now) if live is None and not subresource else tracked(before, after, now)
        except _Unfit:  # as kube-apiserver does it: what cannot be compared is forgotten
            fields = []
        metadata = {**wanted["metadata"], "managedFields": fields}
        if not fields:
            del metadata["managedFields"]
        return {**wanted, "metadata": metadata}

    def created(after: Object, now: str) -> list[Record]:
        """The record of a new object, which is that of others with the same structure but for its time."""
        if after["metadata"].get("managedFields") is not None:
            return tracked(None, after, now)
        form = structure(after)
        known = scope.first_records.get((options.manager, form))
        if known is not None:
            return [{**known, "time": now}]
        made = tracked(None, after, now)
        if form is not None and len(made) == 1:
            if len(scope.first_records) >= _FORMS:
                scope.first_records.clear()
            scope.first_records[options.manager, form] = made[0]
        return made

    def tracked(before: Object | None, after: Object, now: str) -> list[Record]:
        return track_update(
            engine.behaviour,
            before,
            after,
            schema,
            manager=options.manager,
            api_version=scope.resource.api_version,
            time=now,
            subresource=subresource,
            reset_fields=_known_reset_fields(scope, subresource),
            convert=converter(scope),
        )

    return track
