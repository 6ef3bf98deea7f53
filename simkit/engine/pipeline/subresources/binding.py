"""Binding of a pod to a node, once for each pod.

Upstream: pkg/registry/core/pod/storage/storage.go, release 1.30.
"""

from __future__ import annotations

from typing import Any, Final

from simkit.engine.pipeline import options as opt
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.options import WriteOptions
from simkit.engine.pipeline.representation import responses
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.pipeline.verbs import request_object
from simkit.engine.pipeline.verbs.create_attributes import create_attributes
from simkit.engine.seams import Entry, Stale
from simkit.kinds.strategies import strategy_of
from simkit.meta.behaviour import applies
from simkit.meta.clock import timestamp
from simkit.meta.errors import bad_request, conflict, not_found, unexplained
from simkit.meta.fielderror import aggregate_errors, quoted
from simkit.meta.message import Response
from simkit.meta.names import GroupKind, GroupResource, GroupVersionKind, Key
from simkit.meta.objects import Draft, Object, annotations_of, at, labels_of, metadata, name_of

_PODS: Final = GroupResource("", "pods")
_KIND: Final = GroupVersionKind("", "v1", "Binding")
_SCHEDULED: Final = "PodScheduled"
_TRIES: Final = 64
SUCCESS: Final = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def bind(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """POST of a Binding to ``pods/<name>/binding``, or to the older ``bindings``."""
    options = opt.write_options(context.request, "CreateOptions")
    info = context.info
    binding = request_object.read(engine, context, _KIND, engine.catalogue.schema(_KIND), options.validation)
    request_object.check_address(context, scope, binding, named=False)
    if info.subresource and name_of(binding) != info.name:
        raise bad_request("name in URL does not match name in Binding object")
    review = create_attributes(context, scope, _KIND, name_of(binding), binding, options)
    binding = dict(engine.admission.mutate(review))
    errors = strategy_of(GroupKind("", _KIND.kind)).validate(binding, None)
    if errors:
        raise unexplained(aggregate_errors(map(str, errors)))
    engine.admission.validate(review.with_object(binding))
    if not name_of(binding):
        raise bad_request("Name parameter required.")
    _assign(engine, Key(_PODS, info.namespace, name_of(binding)), binding, options)
    return responses.document_response(SUCCESS, context.output_media_type, status=201)


def _assign(engine: Engine, key: Key, binding: Object, options: WriteOptions) -> None:
    """Write the node into the pod, with retries on conflicts."""
    for _ in range(_TRIES):
        live = engine.store.get(key)
        if live is None:
            raise not_found(_PODS, key.name)
        _check(live, binding)
        draft = _bound(live.object, binding, timestamp(engine.clock.now()))
        if options.dry_run:
            return
        try:
            engine.store.put(key, draft, expect=live.revision)
        except Stale:
            continue
        return
    raise conflict(_PODS, key.name)


def _check(live: Entry, binding: Object) -> None:
    pod, name = live.object, live.key.name
    why = _objection(pod, metadata(binding), name)
    if why:
        raise conflict(GroupResource("", "pods/binding"), name, why)


def _objection(pod: Object, given: Object, name: str) -> str:
    """The reason why a pod cannot be bound; empty if it can."""
    for field, word in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        wanted, actual = given.get(field), metadata(pod).get(field)
        if wanted and wanted != actual:
            return f"Precondition failed: {word} in precondition: {wanted}, {word} in object meta: {actual}"
    if metadata(pod).get("deletionTimestamp"):
        return f"pod {name} is being deleted, cannot be assigned to a host"
    node = at(pod, "spec", "nodeName")
    if node:
        return f"pod {name} is already assigned to node {quoted(node)}"
    return f"pod {name} has non-empty .spec.schedulingGates" if at(pod, "spec", "schedulingGates") else ""


def _bound(pod: Object, binding: Object, now: str) -> Draft:
    noted: dict[str, Any] = dict(metadata(pod))
    if annotations_of(binding):
        noted["annotations"] = {**annotations_of(pod), **annotations_of(binding)}
    if labels_of(binding) and applies("labels-of-bindings"):
        noted["labels"] = {**labels_of(pod), **labels_of(binding)}
    status = pod.get("status") or {}
    condition = {"type": _SCHEDULED, "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    others = [one for one in status.get("conditions") or () if one.get("type") != _SCHEDULED]
    spec = {**pod["spec"], "nodeName": at(binding, "target", "name")}
    return {**pod, "metadata": noted, "spec": spec, "status": {**status, "conditions": [*others, condition]}}
