"""Strategy of Pod: defaulting, status, validation, subresources, grace period, printer columns.

Follows ``pkg/registry/core/pod/strategy.go``, ``pkg/apis/core/validation/validation.go`` and
``pkg/printers/internalversion/printers.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.kinds.parts.cells import NONE, age, created
from simkit.kinds.parts.copy_on_write import keep_all_but_status
from simkit.kinds.parts.go_printing.diff import difference
from simkit.kinds.parts.pod.defaults import default_pod_only, defaulted_spec
from simkit.kinds.parts.pod.profiles import (
    annotation_warnings,
    bring_seccomp_together,
    bring_together,
    validate_annotation_change,
    validate_annotation_value,
    validate_app_armor_agreement,
    validate_field_agreement,
    without_init_annotations,
)
from simkit.kinds.parts.pod.template import without_image_volumes, without_restart_policies
from simkit.kinds.parts.pod.validation.containers import IMAGE
from simkit.kinds.parts.pod.validation.scheduling import PREFERRED, REQUIRED
from simkit.kinds.parts.pod.validation.spec import validate_pod_spec
from simkit.kinds.parts.pod.validation.status import (
    first_status,
    fit_status,
    keep_observed,
    status_warnings,
    validate_status,
    with_time,
)
from simkit.kinds.parts.pod.validation.update import validate_change, validate_resize
from simkit.kinds.parts.pod.warnings import pod_warnings
from simkit.kinds.parts.template_owner import name_warnings
from simkit.kinds.rules import placed
from simkit.kinds.strategy import DeleteStrategy, Strategy, Subresource, WriteContext
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import moment
from simkit.meta.domain import MIRROR_POD
from simkit.meta.fielderror import Errors, FieldError, forbidden_field, quoted
from simkit.meta.objects import Draft, Object, annotations_of, at, labels_of, metadata, name_of
from simkit.meta.podspec import NON_EPHEMERAL

_KEYS: Final = (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
_SPREAD: Final = "topologySpreadConstraints"


def with_label_keys(behaviour: ServedBehaviour, spec: Object, labels: Mapping[str, str]) -> Object:
    """The spec of a pod with these labels, with the values written into its selectors.

    Examples
    --------
    >>> term = {"labelSelector": {}, "matchLabelKeys": ["a"]}
    >>> spec = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    >>> with_label_keys(ServedBehaviour(30), spec, {"a": "1"}) == spec
    True
    """
    found = spec
    if spec.get("affinity") and behaviour.applies("affinity-selector-takes-label-keys"):
        found = {**found, "affinity": _affinity(spec["affinity"], labels)}
    if spec.get(_SPREAD) and behaviour.applies("spread-selector-takes-label-keys"):
        found = {**found, _SPREAD: [_selecting(one, labels) for one in spec[_SPREAD]]}
    return found


def _affinity(affinity: Object, labels: Mapping[str, str]) -> Object:
    made = dict(affinity)
    for name in ("podAffinity", "podAntiAffinity"):
        if made.get(name):
            made[name] = _pod_affinity(made[name], labels)
    return made


def _pod_affinity(affinity: Object, labels: Mapping[str, str]) -> Object:
    made = dict(affinity)
    if made.get(REQUIRED):
        made[REQUIRED] = [_selecting(one, labels) for one in made[REQUIRED]]
    if made.get(PREFERRED):
        term = "podAffinityTerm"
        made[PREFERRED] = [{**one, term: _selecting(one.get(term) or {}, labels)} for one in made[PREFERRED]]
    return made


def _selecting(term: Object, labels: Mapping[str, str]) -> Object:
    """A term with an expression for each of its keys that the pod has as a label."""
    selector = term.get("labelSelector")
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for field, operator in _KEYS
        for key in term.get(field) or ()
        if key in labels
    ]
    if selector is None or not added:
        return term
    expressions = [*(selector.get("matchExpressions") or ()), *added]
    return {**term, "labelSelector": {**selector, "matchExpressions": expressions}}


_ENDED: Final = ("Succeeded", "Failed")
_SPEC: Final = "spec"


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    draft[_SPEC] = default_pod_only(behaviour, defaulted_spec(behaviour, draft.get(_SPEC) or {}))


def _prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    without_init_annotations(draft)
    before = (old or {}).get(_SPEC) or {}
    draft[_SPEC] = without_restart_policies(behaviour, without_image_volumes(behaviour, draft[_SPEC], before), before)
    if old is None:
        draft["status"] = first_status(behaviour, draft[_SPEC])
        draft[_SPEC] = with_label_keys(behaviour, draft[_SPEC], labels_of(draft))
        if behaviour.applies("app-armor-fields"):
            bring_together(behaviour, draft)
        if not behaviour.applies("seccomp-notes-without-effect") and behaviour.applies("seccomp-profiles-in-fields"):
            bring_seccomp_together(draft, noted=behaviour.applies("seccomp-fields-noted"))
    if behaviour.applies("pod-generation"):
        _count(draft, old)


def _count(draft: Draft, old: Object | None) -> None:
    """Count the changes of the spec."""
    if old is None:
        draft["metadata"]["generation"] = 1
    elif draft.get(_SPEC) != old.get(_SPEC):
        draft["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1


def _prepare_with_context(behaviour: ServedBehaviour, draft: Draft, old: Object | None, write: WriteContext) -> None:
    """The condition of a new pod that waits for its gates is of now."""
    conditions = draft["status"].get("conditions") if old is None else None
    if conditions and behaviour.applies("waiting-condition-has-time"):
        draft["status"] = {**draft["status"], "conditions": [with_time(one, write.now) for one in conditions]}


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Errors:
    yield from _validate_fields(behaviour, obj)
    if old is None:
        yield from _validate_creation(obj)
        return
    yield from validate_annotation_change(behaviour, "metadata.annotations", obj, old)
    yield from validate_change(behaviour, obj, old)


def _validate_fields(behaviour: ServedBehaviour, obj: Object) -> Errors:
    spec = obj[_SPEC]
    yield from validate_annotation_value(behaviour, "metadata.annotations", obj, spec)
    yield from validate_pod_spec(behaviour, _SPEC, spec, obj)
    if not spec.get("serviceAccountName"):
        yield from _validate_token(spec)
    for name in NON_EPHEMERAL:
        for index, container in enumerate(spec.get(name) or ()):
            yield from placed(f"{_SPEC}.{name}[{index}]", IMAGE(behaviour, container))


def _validate_token(spec: Object) -> Errors:
    """The errors of service account tokens in the pod of no account."""
    for index, volume in enumerate(spec.get("volumes") or ()):
        for number, source in enumerate(at(volume, "projected", "sources") or ()):
            if source.get("serviceAccountToken") is not None:
                path = f"spec.volumes[{index}].projected.sources[{number}].serviceAccountToken"
                yield forbidden_field(path, "must not be specified when serviceAccountName is not set")


def _validate_creation(obj: Object) -> Errors:
    spec = obj[_SPEC]
    if spec.get("ephemeralContainers"):
        yield forbidden_field("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        yield forbidden_field("spec.nodeName", "cannot be set until all schedulingGates have been cleared")
    yield from validate_field_agreement(_SPEC, obj, spec)
    yield from validate_app_armor_agreement(_SPEC, obj, spec)


def _warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[str]:
    if old is not None:  # humans rarely change pods, and agents do so often
        return ()
    return [
        *annotation_warnings(behaviour, obj),
        *name_warnings(behaviour, obj, "the Pod's hostname"),
        *pod_warnings(behaviour, "", obj),
    ]


def _merge_status(behaviour: ServedBehaviour, draft: Draft, live: Object) -> None:
    keep_all_but_status(behaviour, draft, live)
    draft["metadata"].pop("deletionTimestamp", None)
    owners = live["metadata"].get("ownerReferences")
    draft["metadata"]["ownerReferences"] = owners
    if not owners:
        del draft["metadata"]["ownerReferences"]
    draft["status"] = fit_status(behaviour, draft.get("status") or {}, live.get("status") or {})
    if behaviour.applies("pod-generation"):
        draft["status"] = keep_observed(draft["status"], live.get("status") or {})


def _validate_status(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    return [*validate_status(behaviour, obj, old or {})]


_RESIZE: Final = "resize"


def _merge_resize(behaviour: ServedBehaviour, draft: Draft, live: Object) -> None:
    """Only resources and resize policies are taken; where containers come, go or change places, all is."""
    wanted, before = draft.get(_SPEC) or {}, live.get(_SPEC) or {}
    spec = {**before}
    for name in NON_EPHEMERAL:
        new, old = wanted.get(name) or (), before.get(name) or ()
        if len(new) != len(old):
            return
        if new:
            spec[name] = [*_resized(new, old)]
    if behaviour.applies("resize-of-pod-level-resources"):
        spec = _with(spec, wanted, ("resources",))
    draft.update({name: value for name, value in live.items() if name not in ("metadata", _SPEC)})
    draft["metadata"] = _server_metadata(draft, live)
    draft[_SPEC] = spec


def _resized(containers: Sequence[Object], old: Sequence[Object]) -> Sequence[Object]:
    pairs = list(zip(containers, old, strict=True))
    if any(new.get("name") != before.get("name") for new, before in pairs):
        return containers
    return [_with(before, new, ("resources", "resizePolicy")) for new, before in pairs]


def _with(before: Object, wanted: Object, names: Sequence[str]) -> dict[str, Any]:
    """The old value, with some fields of the wanted one."""
    made = {name: value for name, value in before.items() if name not in names}
    return {**made, **{name: wanted[name] for name in names if name in wanted}}


def _server_metadata(draft: Draft, live: Object) -> Draft:
    """The live metadata with what a write of a part brings along: its version, and who manages which fields."""
    kept = {name: value for name, value in live["metadata"].items() if name not in ("resourceVersion", "managedFields")}
    brought = {name: draft["metadata"].get(name) for name in ("managedFields", "resourceVersion")}
    return {**kept, **{name: value for name, value in brought.items() if value}}


def _validate_resize(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    return validate_resize(behaviour, obj, old or {}, list(_validate_fields(behaviour, obj)))


_EPHEMERAL: Final = "ephemeralContainers"
_EPHEMERAL_KIND: Final = "core.EphemeralContainer"


def _merge_ephemeral(behaviour: ServedBehaviour, draft: Draft, live: Object) -> None:
    """Keep everything but the list of ephemeral containers and the resource version."""
    wanted = at(draft, _SPEC, _EPHEMERAL)
    spec = {name: value for name, value in (live.get(_SPEC) or {}).items() if name != _EPHEMERAL}
    if wanted:
        spec[_EPHEMERAL] = wanted
    draft.update({name: value for name, value in live.items() if name not in ("metadata", _SPEC)})
    draft["metadata"] = _server_metadata(draft, live)
    if not behaviour.applies("ephemeral-containers-are-owned"):
        draft["metadata"].pop("managedFields", None)
        draft["metadata"] |= {name: live["metadata"][name] for name in ("managedFields",) if name in live["metadata"]}
    draft[_SPEC] = spec


def _validate_ephemeral(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Errors:
    live = old or {}
    if MIRROR_POD in annotations_of(live) and behaviour.applies("static-pods-without-ephemeral-containers"):
        yield forbidden_field("", "static pods do not support ephemeral containers")
        return
    yield from _validate_fields(behaviour, obj)
    yield from validate_annotation_change(behaviour, "metadata.annotations", obj, live)
    path = f"{_SPEC}.{_EPHEMERAL}"
    present = {one.get("name"): one for one in at(obj, _SPEC, _EPHEMERAL) or ()}
    for before in at(live, _SPEC, _EPHEMERAL) or ():
        name = before.get("name")
        if name not in present:
            yield forbidden_field(path, f"existing ephemeral containers {quoted(name)} may not be removed\n")
        elif present[name] != before:
            text = f"existing ephemeral containers {quoted(name)} may not be changed\n"
            yield forbidden_field(path, text + difference(behaviour, _EPHEMERAL_KIND, before, present[name]))


def grace_seconds(obj: Object, asked: int | None) -> int:
    """The grace period of a pod in seconds: 0 for one without a node."""
    seconds = at(obj, _SPEC, "terminationGracePeriodSeconds") or 0 if asked is None else asked
    if not at(obj, _SPEC, "nodeName") or at(obj, "status", "phase") in _ENDED:
        return 0
    return 1 if seconds < 0 else int(seconds)


def _fields(obj: Object) -> dict[str, str]:
    addresses = at(obj, "status", "podIPs") or ()
    return {
        "spec.hostNetwork": "true" if at(obj, _SPEC, "hostNetwork") else "false",
        "status.podIP": (addresses[0].get("ip") if addresses else "") or "",
        "status.podIPs": "",
    }


_ENDINGS: Final[Mapping[str, str]] = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}


def pod_row_conditions(obj: Object) -> Sequence[Object]:
    """The conditions of a pod's row: whether the pod has completed."""
    phase = at(obj, "status", "phase")
    if phase not in _ENDINGS:
        return ()
    return ({"type": "Completed", "status": "True", "reason": phase, "message": _ENDINGS[phase]},)


def pod_row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    """The cells of a pod's row."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    sidecars = {one.get("name") for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"}
    first, reached = _initializing(obj, sidecars)
    beside = [one for one in reached if one.get("name") in sidecars]
    ready = sum(bool(one.get("started") and one.get("ready") and not _succeeded(one)) for one in beside)
    text, counted = first or _plain(status), reached
    if not first or any(_is_true(one, "Initialized") for one in status.get("conditions") or ()):
        mains = status.get("containerStatuses") or ()
        text, counted = _running(status, text), [*beside, *mains]
        ready += sum(map(_runs, mains))
    if metadata(obj).get("deletionTimestamp"):
        text = "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    total = len(spec.get("containers") or ()) + len(sidecars)
    addresses = status.get("podIPs") or ()
    return [
        name_of(obj),
        f"{ready}/{total}",
        text,
        _restarts(counted, now),
        created(obj, now),
        (addresses[0].get("ip") if addresses else "") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(spec, status),
    ]


def _plain(status: Object) -> str:
    text: str = status.get("reason") or status.get("phase") or ""
    for one in status.get("conditions") or ():
        if one.get("type") == "PodScheduled" and one.get("reason") == "SchedulingGated":
            text = "SchedulingGated"
    return text


def _is_true(condition: Object, kind: str) -> bool:
    return condition.get("type") == kind and condition.get("status") == "True"


def _initializing(obj: Object, sidecars: set[Any]) -> tuple[str, list[Object]]:
    """The reason of the first incomplete init container, empty if all are complete; and the containers up to it."""
    total = len(at(obj, "spec", "initContainers") or ())
    reached: list[Object] = []
    for index, one in enumerate(at(obj, "status", "initContainerStatuses") or ()):
        reached.append(one)
        ended, reason = at(one, "state", "terminated"), at(one, "state", "waiting", "reason")
        if _succeeded(one) or (one.get("name") in sidecars and one.get("started")):
            continue
        if ended is not None:
            return f"Init:{ended.get('reason') or _ending(ended)}", reached
        return f"Init:{reason if reason and reason != 'PodInitializing' else f'{index}/{total}'}", reached
    return "", reached


def _succeeded(status: Object) -> bool:
    ended = at(status, "state", "terminated")
    return ended is not None and not ended.get("exitCode")


def _runs(status: Object) -> bool:
    """True if a container counts as ready: it is ready, runs, and waits for nothing."""
    state = status.get("state") or {}
    waits = bool(at(state, "waiting", "reason")) or state.get("terminated") is not None
    return bool(status.get("ready")) and state.get("running") is not None and not waits


def _ending(ended: Object) -> str:
    signal = ended.get("signal")
    return f"Signal:{signal}" if signal else f"ExitCode:{ended.get('exitCode') or 0}"


def _running(status: Object, text: str) -> str:
    runs = False
    for one in reversed(status.get("containerStatuses") or ()):
        waiting, ended = at(one, "state", "waiting"), at(one, "state", "terminated")
        if waiting is not None and waiting.get("reason"):
            text = waiting["reason"]
        elif ended is not None:
            text = ended.get("reason") or _ending(ended)
        elif _runs(one):
            runs = True
    if text == "Completed" and runs:
        return "Running" if any(_is_true(one, "Ready") for one in status.get("conditions") or ()) else "NotReady"
    return text


def _restarts(statuses: Sequence[Object], now: float) -> str:
    count = sum(one.get("restartCount") or 0 for one in statuses)
    ends = [at(one, "lastState", "terminated", "finishedAt") for one in statuses]
    last = max((time for time in ends if time), key=moment, default=None)
    return f"{count} ({age(last, now)} ago)" if count and last else str(count)


def _gates(spec: Object, status: Object) -> str:
    gates = [one.get("conditionType") for one in spec.get("readinessGates") or ()]
    if not gates:
        return NONE
    states = {one.get("type"): one.get("status") for one in status.get("conditions") or ()}
    return f"{sum(states.get(gate) == 'True' for gate in gates)}/{len(gates)}"


STRATEGY = Strategy(
    default=_default,
    prepare=_prepare,
    prepare_with_context=_prepare_with_context,
    validate=_validate,
    selectable_fields=_fields,
    print_row=pod_row,
    print_row_conditions=pod_row_conditions,
    subresources={
        "status": Subresource(_merge_status, _validate_status, status_warnings),
        "ephemeralcontainers": Subresource(_merge_ephemeral, _validate_ephemeral, owns_all=True),
        _RESIZE: Subresource(_merge_resize, _validate_resize, owns_all=True),
    },
    warnings=_warnings,
    reset_fields=lambda _: {"ephemeralcontainers": (), _RESIZE: ()},
    status_reset_fields=(("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")),
    return_deleted_object=True,
    delete_strategy=DeleteStrategy(grace_period=grace_seconds),
)
