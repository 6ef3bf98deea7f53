"""Admission and managed fields as callables for the registry's write.

Upstream: k8s.io/apiserver/pkg/endpoints/handlers/create.go and k8s.io/apiserver/pkg/endpoints/handlers/update.go,
release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from simkit.engine.authz.forbidden import forbidden_error
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.options import WriteOptions
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.pipeline.verbs import owner_references
from simkit.engine.pipeline.verbs.claim_status import refused_claim_status
from simkit.engine.seams import Operation, Review
from simkit.kinds.apiextensions.definition import NO_NEW_ONES, CustomVersion
from simkit.kinds.apiextensions.validation.defaults import has_unknown
from simkit.language.merge.fieldset import EMPTY, Fields, of_paths
from simkit.language.merge.managedfields import Record
from simkit.language.merge.structure import structure
from simkit.language.merge.update import track_update
from simkit.language.merge.versions import Converter
from simkit.meta.attributes import Verdict
from simkit.meta.behaviour import applies
from simkit.meta.clock import timestamp
from simkit.meta.domain import CERTIFICATES_GROUP, RBAC_GROUP, api_group
from simkit.meta.errors import bad_request, forbidden
from simkit.meta.fielderror import FieldError, quoted
from simkit.meta.frozen_init import quickly_made
from simkit.meta.names import GroupResource, GroupVersion, Key
from simkit.meta.objects import Draft, Object, labels_of, name_of
from simkit.schema.decoding import DecodeError
from simkit.schema.structural import Schema


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
        _forbid_new(self.scope.custom, review)
        mutated = dict(self.engine.admission.mutate(review))
        owner_references.deduplicate(mutated, self.context.warnings, admitted=True)
        self.guard(mutated, live)
        return mutated

    def validate(self, obj: Object, live: Object | None) -> None:
        """Run the validating plugins; the kind's own warnings come first, even if a plugin refuses."""
        self.context.warnings += self._warnings(obj, live)
        self.engine.admission.validate(self.review("CREATE" if live is None else "UPDATE", obj, live))

    def _warnings(self, obj: Object, live: Object | None) -> Sequence[str]:
        subresource, strategy = self.context.info.subresource, self.scope.strategy
        special = (strategy.subresources or {}).get(subresource) if subresource and live is not None else strategy
        found = special.warnings(obj, live) if special is not None else ()
        return found if found and applies("writers-warned") else ()

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
        namespace = self.engine.store.get(Key(_NAMESPACES, "", self.context.info.namespace))
        from simkit.kinds.resource.resourceclaim import admin_status_errors

        errors = admin_status_errors(obj, live, labels_of(namespace.object) if namespace is not None else {})
        if applies("status-of-claims-needs-rights"):
            ask = self.context.info.asks(self.context.actor())
            errors += refused_claim_status(ask, self.engine.authorizer, obj, live)
        return errors

    def permit_create(self) -> None:
        """Check that the user may create, for an update that creates. Raises 403."""
        info = self.context.info
        ask = replace(info.asks(self.context.actor()), verb="create")
        decision = self.engine.authorizer.authorize(ask)
        if decision.verdict is not Verdict.ALLOW:
            if applies("write-parts-told-in-full"):
                raise forbidden_error(ask, decision.reason)
            raise forbidden(self.scope.resource.group_resource, info.name, decision.reason)


def _forbid_new(custom: CustomVersion | None, review: Review) -> None:
    """Raises 403 for the admission of a new object of a terminating definition."""
    if custom is None or review.operation != "CREATE" or review.subresource or not custom.definition.is_terminating:
        return
    if applies("terminating-definition-forbids"):
        raise forbidden(review.resource, review.name, NO_NEW_ONES)


_FORMS: Final = 128
"""The records of new objects that are kept for a resource."""
_NAMESPACES: Final = GroupResource("", "namespaces")
_DEVICE_CLAIMS: Final = GroupResource(api_group("resource"), "resourceclaims")
_SIGNING_REQUESTS: Final = GroupResource(CERTIFICATES_GROUP, "certificatesigningrequests")
_STATUS: Final = of_paths(("f:status",))


def reset_fields(scope: RequestScope, subresource: str) -> Fields:
    """The fields that an endpoint resets: a write there does not own them."""
    unwritten = scope.strategy.reset_fields().get(subresource)
    if unwritten is not None:
        return of_paths(*(tuple(f"f:{step}" for step in name.split(".")) for name in unwritten))
    if not scope.resource.has_status:
        return EMPTY
    if subresource == "status":
        names = [name for name in scope.schema.fields if name not in ("status", "metadata", "kind", "apiVersion")]
        kept = (tuple(f"f:{step}" for step in path) for path in scope.strategy.status_reset_fields)
        return of_paths(*((f"f:{name}",) for name in names), *kept)
    return _STATUS if scope.registry_scope.resource != _SIGNING_REQUESTS else of_paths(("f:status",), ("f:spec",))


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
