"""The binding of a pod to a node, and its eviction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from simkit.client.resources import BUDGETS, PODS
from simkit.engine.pipeline import options as opt
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.options import WriteOptions
from simkit.engine.pipeline.representation import responses
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.pipeline.verbs import request_object
from simkit.engine.pipeline.verbs.admission_binding import managed_fields_tracker
from simkit.engine.pipeline.verbs.request_object import create_attributes, new_owners
from simkit.engine.pipeline.verbs.server_writes import update_status_as_server
from simkit.engine.registry.write import DeleteOptions, Deletion, Write, failed_precondition, precondition_failed
from simkit.kinds.strategy import strategy_of
from simkit.logic.workloads.pods import is_ready
from simkit.logic.workloads.status_conditions import guarding, with_allowed, with_condition
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import timestamp
from simkit.meta.domain import API_SERVER
from simkit.meta.errors import StatusError, bad_request, conflict, forbidden, unexplained
from simkit.meta.fielderror import aggregate_errors, quoted
from simkit.meta.message import Response
from simkit.meta.names import GroupKind, GroupResource, GroupVersionKind, Key
from simkit.meta.objects import Draft, Object, annotations_of, at, labels_of, metadata, name_of
from simkit.seams import Entry, Stale, existing

# Binding of a pod to a node, once for each pod.
# Upstream: pkg/registry/core/pod/storage/storage.go, release 1.30.

_KIND: Final = GroupVersionKind("", "v1", "Binding")
_SCHEDULED: Final = "PodScheduled"
_BINDING_TRIES: Final = 64
SUCCESS: Final = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def bind(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """POST of a Binding to ``pods/<name>/binding``, or to the older ``bindings``."""
    options = request_object.create_options(engine.behaviour, context.request)
    info = context.info
    binding = request_object.read(engine, context, _KIND, engine.catalogue.schema(_KIND), options.validation)
    request_object.check_address(context, scope, binding, named=False)
    if info.subresource and name_of(binding) != info.name:
        raise bad_request("name in URL does not match name in Binding object")
    owned = new_owners(engine, binding, _KIND, options, info.subresource)
    binding["metadata"]["managedFields"] = owned
    review = create_attributes(context, scope, _KIND, name_of(binding), binding, options)
    binding = dict(engine.admission.mutate(review))
    errors = list(strategy_of(GroupKind("", _KIND.kind)).validate(engine.behaviour, binding, None))
    if errors:
        raise unexplained(aggregate_errors(error.told(engine.behaviour) for error in errors))
    engine.admission.validate(review.with_object(binding))
    if not name_of(binding):
        raise bad_request("Name parameter required.")
    _assign(engine, Key(PODS, info.namespace, name_of(binding)), binding, options)
    return responses.document_response(SUCCESS, context.output_media_type, status=201)


def _assign(engine: Engine, key: Key, binding: Object, options: WriteOptions) -> None:
    """Write the node into the pod, with retries on conflicts."""
    for _ in range(_BINDING_TRIES):
        live = existing(engine.store, key)
        _check_binding(live, binding, dry_run=options.dry_run)
        draft = _bound(engine.behaviour, live.object, binding, timestamp(engine.clock.now()))
        if options.dry_run:
            return
        try:
            engine.store.put(key, draft, expect=live.revision)
        except Stale:
            continue
        return
    raise conflict(PODS, key.name)


def _check_binding(live: Entry, binding: Object, *, dry_run: bool) -> None:
    pod, name = live.object, live.key.name
    for field, word in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        wanted, actual = metadata(binding).get(field) or "", metadata(pod).get(field) or ""
        if wanted and wanted != actual:
            raise conflict(PODS, name, precondition_failed(live.key, wanted, actual, dry_run=dry_run, word=word))
    why = _objection(pod, name)
    if why:
        raise conflict(GroupResource("", "pods/binding"), name, why)


def _objection(pod: Object, name: str) -> str:
    """The reason why a pod cannot be bound; empty if it can."""
    if metadata(pod).get("deletionTimestamp"):
        return f"pod {name} is being deleted, cannot be assigned to a host"
    node = at(pod, "spec", "nodeName")
    if node:
        return f"pod {name} is already assigned to node {quoted(node)}"
    return f"pod {name} has non-empty .spec.schedulingGates" if at(pod, "spec", "schedulingGates") else ""


def _bound(behaviour: ServedBehaviour, pod: Object, binding: Object, now: str) -> Draft:
    noted: dict[str, Any] = dict(metadata(pod))
    if annotations_of(binding):
        noted["annotations"] = {**annotations_of(pod), **annotations_of(binding)}
    if labels_of(binding) and behaviour.applies("labels-of-bindings"):
        noted["labels"] = {**labels_of(pod), **labels_of(binding)}
    status = pod.get("status") or {}
    condition = {"type": _SCHEDULED, "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    others = [one for one in status.get("conditions") or () if one.get("type") != _SCHEDULED]
    spec = {**pod["spec"], "nodeName": at(binding, "target", "name")}
    return {**pod, "metadata": noted, "spec": spec, "status": {**status, "conditions": [*others, condition]}}


# Eviction: the deletion of a pod, limited by its disruption budget.
# References: ``pkg/registry/core/pod/storage/eviction.go``, release 1.30.

_OLD_VERSION: Final = "v1beta1"
_MOST_DISRUPTED: Final = 2000
_TRIES: Final = 20
_REFUSED: Final = "Cannot evict pod as it would violate the pod's disruption budget."


@dataclass(frozen=True, slots=True)
class _Eviction:
    """One eviction in progress."""

    engine: Engine
    scope: RequestScope
    key: Key
    options: DeleteOptions


def evict(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """POST to ``pods/<name>/eviction``. Raises 429 if the pod's budget does not allow it now."""
    info, written = context.info, request_object.create_options(engine.behaviour, context.request)
    draft = _body(engine, context, scope, written)
    review = create_attributes(context, scope, scope.resource.subresource_gvk("eviction"), info.name, draft, written)
    draft = dict(engine.admission.mutate(review))
    if name_of(draft) != info.name:
        raise bad_request("name in URL does not match name in Eviction object")
    engine.admission.validate(review.with_object(draft))
    key = scope.registry_scope.key(info.namespace, info.name)
    pod = existing(engine.store, key, PODS)
    options = opt.delete_options(engine.behaviour, draft.get("deleteOptions") or {})
    eviction = _Eviction(engine, scope, key, replace(options, dry_run=options.dry_run or written.dry_run))
    _remove(eviction) if _is_unguarded(pod.object) else _remove_guarded(eviction, pod)
    return responses.document_response(SUCCESS, context.output_media_type, status=201)


def _body(engine: Engine, context: RequestContext, scope: RequestScope, written: WriteOptions) -> Draft:
    """The eviction in the body, in either version."""
    gvk = scope.resource.subresource_gvk("eviction")
    schema = engine.catalogue.schema(gvk)
    if f"{gvk.group}/{_OLD_VERSION}".encode() in context.request.body:
        gvk = GroupVersionKind(gvk.group, _OLD_VERSION, gvk.kind)
    draft = request_object.read(engine, context, gvk, schema, written.validation)
    request_object.check_address(context, scope, draft, named=False)
    return draft


def _is_unguarded(pod: Object) -> bool:
    """True if no budget can speak for a pod: it does not run yet, has ended, or is going anyway."""
    phase = at(pod, "status", "phase")
    return phase in ("Succeeded", "Failed", "Pending") or bool(at(pod, "metadata", "deletionTimestamp"))


def _remove_guarded(eviction: _Eviction, pod: Entry) -> None:
    engine = eviction.engine
    entries = engine.store.scan(BUDGETS, pod.key.namespace)
    budgets = guarding((entry.object for entry in entries), pod.object)
    if len(budgets) > 1:
        several = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise unexplained(several)
    if not budgets:
        _remove(eviction)
    elif _does_not_count(pod.object, budgets[0]):
        _remove_unready(eviction, pod, name_of(budgets[0]))
    else:
        _take_from(eviction, name_of(budgets[0]))
        _remove(eviction)


def _does_not_count(pod: Object, budget: Object) -> bool:
    """True if a pod is not ready and so may go without costing the budget anything."""
    if is_ready(pod):
        return False
    if at(budget, "spec", "unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired = status.get("desiredHealthy") or 0
    return desired > 0 and (status.get("currentHealthy") or 0) >= desired


def _remove_unready(eviction: _Eviction, pod: Entry, budget: str) -> None:
    """Delete a pod only if it did not become ready in the meantime."""
    if eviction.options.resource_version:
        return _remove(eviction)
    version = pod.object["metadata"].get("resourceVersion", "")
    try:
        _remove(replace(eviction, options=replace(eviction.options, resource_version=version)))
    except StatusError as error:
        if error.code == 409:
            raise _being_processed(budget) from None
        raise


def _take_from(eviction: _Eviction, name: str) -> None:
    """Record the disruption in the budget. Raises 429 if none is left."""
    engine, key = eviction.engine, Key(BUDGETS, eviction.key.namespace, name)
    for _ in range(_TRIES):
        entry = existing(engine.store, key)
        status = _after(eviction, entry.object)
        if eviction.options.dry_run or _store_status(engine, entry, status):
            return
    raise StatusError(504, "Timeout", f"Timeout: couldn't update PodDisruptionBudget {quoted(name)} due to conflicts")


def _after(eviction: _Eviction, budget: Object) -> dict[str, Any]:
    """The budget's status after a further disruption."""
    status, name = budget.get("status") or {}, name_of(budget)
    generation, allowed = status.get("observedGeneration") or 0, status.get("disruptionsAllowed") or 0
    if generation < (budget["metadata"].get("generation") or 0):
        raise _being_processed(name)
    disrupted = status.get("disruptedPods") or {}
    singular = GroupResource("policy", "poddisruptionbudget")
    if allowed < 0:
        raise forbidden(singular, name, "pdb disruptions allowed is negative")
    if len(disrupted) > _MOST_DISRUPTED:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise forbidden(singular, name, why)
    if not allowed:
        desired, current = status.get("desiredHealthy") or 0, status.get("currentHealthy") or 0
        text = f"The disruption budget {name} needs {desired} healthy pods and has {current} currently"
        raise _refused(text)
    now = timestamp(eviction.engine.clock.now())
    after = {**status, "disruptionsAllowed": allowed - 1, "disruptedPods": {**disrupted, eviction.key.name: now}}
    if allowed == 1:
        after["conditions"] = with_allowed(status.get("conditions"), 0, generation, now)
    return after


def _refused(cause: str, retry: int = 0) -> StatusError:
    details: dict[str, Any] = {"causes": [{"reason": "DisruptionBudget", "message": cause}]}
    if retry:
        details["retryAfterSeconds"] = retry
    return StatusError(429, "TooManyRequests", _REFUSED, details=details)


def _being_processed(budget: str) -> StatusError:
    return _refused(f"The disruption budget {budget} is still being processed by the server.", 10)


def _store_status(engine: Engine, entry: Entry, status: Mapping[str, Any]) -> bool:
    """True if the status could be written; False when somebody else was faster."""

    def intent(live: Object | None) -> Draft:
        return {**entry.object, "metadata": dict(entry.object["metadata"]), "status": dict(status)}

    try:
        update_status_as_server(engine, entry.key, intent)
    except StatusError as error:
        if error.code == 409:
            return False
        raise
    return True


def _remove(eviction: _Eviction) -> None:
    """Set the pod's DisruptionTarget condition, then delete it."""
    engine, options = eviction.engine, eviction.options
    if not options.dry_run:
        marked = _mark(eviction)
        if options.resource_version:  # our own mark has moved the pod on
            options = replace(options, resource_version=marked.object["metadata"].get("resourceVersion", ""))
    engine.registry.delete(Deletion(eviction.scope.registry_scope, eviction.key, _no_objection, options))


def _mark(eviction: _Eviction) -> Entry:
    engine, scope = eviction.engine, eviction.scope
    now = timestamp(engine.clock.now())
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }

    def intent(live: Object | None) -> Draft:
        obj = live or {}
        _check(eviction, obj)
        status = obj.get("status") or {}
        conditions = with_condition(status.get("conditions"), condition, now)
        metadata = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
        return {**obj, "metadata": metadata, "status": {**status, "conditions": conditions}}

    track = managed_fields_tracker(engine, scope, WriteOptions(API_SERVER), "status")
    return engine.registry.update(Write(scope.registry_scope, eviction.key, intent, "status", track=track)).entry


def _check(eviction: _Eviction, pod: Object) -> None:
    """Raises 409 if the pod does not meet the preconditions."""
    options = eviction.options
    why = failed_precondition(options.uid or None, options.resource_version or None, pod)
    if why:
        raise conflict(GroupResource("", "Pod"), eviction.key.name, why)


def _no_objection(live: Object) -> None:
    """Skip admission of the deletion, since the eviction was admitted."""
