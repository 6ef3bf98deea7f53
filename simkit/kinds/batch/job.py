"""Strategy of Job: generated selectors, defaulting, validation, printer columns.

Follows ``pkg/registry/batch/job/strategy.go`` and ``pkg/apis/batch/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.cells import created, duration, selector_text
from simkit.kinds.parts.copy_on_write import keep_all_but_status, own_copy
from simkit.kinds.parts.go_printing.structures import selector as shown_selector
from simkit.kinds.parts.go_printing.structures import structure, template_text, text_map
from simkit.kinds.parts.job.spec import JOB_SPEC
from simkit.kinds.parts.job.status import validate_job_status
from simkit.kinds.parts.pod.defaults import default_template
from simkit.kinds.parts.pod.template import names_and_images, prepare_template
from simkit.kinds.parts.pod.warnings import pod_warnings
from simkit.kinds.parts.template_owner import (
    default_missing,
    has_generation,
    name_warnings,
    selector_of,
    validate_mismatch,
)
from simkit.kinds.parts.validation.object_meta import validate_label_selector
from simkit.kinds.rules import FIXED, placed
from simkit.kinds.strategy import CHANGES, WHOLE, DeleteStrategy, MetadataChecks, Strategy, Subresource, spec_differs
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import moment
from simkit.meta.domain import label
from simkit.meta.fielderror import Errors, invalid_value, required
from simkit.meta.name_validation import dns_label
from simkit.meta.objects import Draft, Object, annotations_of, at, labels_of, metadata, name_of, null_creation

CONTROLLER: Final = label("controller-uid", "batch")
NAME: Final = label("job-name", "batch")
_OLD_CONTROLLER: Final = "controller-uid"
_OLD_NAME: Final = "job-name"
_TRACKED: Final = label("job-tracking", "batch")
"""The annotation of jobs whose pods have finalizers."""
_NO_LIMIT: Final = 2**31 - 1
_ORPHANS: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or "
    "set propagationPolicy=Orphan to suppress this warning"
)


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    spec = own_copy(draft, "spec")
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    limit = 6 if spec.get("backoffLimitPerIndex") is None else _NO_LIMIT
    replacement = "TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed"
    default_missing(spec, {"parallelism": 1, "backoffLimit": limit, "completionMode": "NonIndexed", "suspend": False})
    manual = {"manualSelector": False} if behaviour.applies("manual-selectors-defaulted") else {}
    default_missing(spec, {**manual, "podReplacementPolicy": replacement})
    default_failure_policy(spec)
    spec.setdefault("template", {})
    default_template(behaviour, spec)
    of_pods = labels_of(spec["template"])
    if of_pods and not labels_of(draft):
        draft["metadata"]["labels"] = of_pods  # these very labels: they go on being one with those of its pods


def default_failure_policy(spec: Draft) -> None:
    """Set the status of conditions in a pod failure policy to True by default."""
    rules = at(spec, "podFailurePolicy", "rules") or ()
    if any(not one.get("status") for rule in rules for one in rule.get("onPodConditions") or ()):
        spec["podFailurePolicy"] = {**spec["podFailurePolicy"], "rules": [_defaulted_rule(rule) for rule in rules]}


def _defaulted_rule(rule: Object) -> Object:
    conditions = rule.get("onPodConditions")
    if not conditions:
        return rule
    return {**rule, "onPodConditions": [{**one, "status": one.get("status") or "True"} for one in conditions]}


def _prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    spec = own_copy(draft, "spec")
    shared = labels_of(draft) is labels_of(spec.get("template") or {})
    prepare_template(behaviour, spec, at(old, "spec", "template", "spec"))
    if old is None:
        draft["status"] = {}
        if behaviour.applies("jobs-marked-as-tracked") or behaviour.applies("jobs-marked-as-tracked-first"):
            draft["metadata"]["annotations"] = {**annotations_of(draft), _TRACKED: ""}
        if not spec.get("manualSelector"):
            _select_own(behaviour, draft, spec)
            if shared:
                draft["metadata"]["labels"] = dict(labels_of(spec["template"]))


def _select_own(behaviour: ServedBehaviour, draft: Draft, spec: Draft) -> None:
    """Give pods labels with the job's name and uid, and select the uid."""
    uid, name = metadata(draft).get("uid") or "", name_of(draft)
    prefixed = behaviour.applies("prefixed-labels-of-jobs")
    own = {_OLD_NAME: name, _OLD_CONTROLLER: uid}
    if prefixed:
        own |= {NAME: name, CONTROLLER: uid}
    template = spec.get("template") or {}
    noted = {**null_creation(behaviour), **(template.get("metadata") or {})}
    spec["template"] = {**template, "metadata": {**noted, "labels": {**own, **labels_of(template)}}}
    selector = own_copy(spec, "selector")
    selector["matchLabels"] = {
        CONTROLLER if prefixed else _OLD_CONTROLLER: uid,
        **(selector.get("matchLabels") or {}),
    }


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Errors:
    yield from _validate_own_selector(behaviour, obj, old)
    yield from _validate_whole_spec(behaviour, obj["spec"])
    yield from _validate_hostname(obj)


def _validate_last(behaviour: ServedBehaviour, obj: Object, old: Object) -> Errors:
    """The errors of a change, which is looked at as a whole once more."""
    yield from _validate_whole_spec(behaviour, obj["spec"])
    yield from _validate_change(behaviour, obj["spec"], old.get("spec") or {}, old)


def _validate_own_selector(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Errors:
    """The errors of a selector that should have been generated, or that does not match the pods.

    Jobs of older servers have the labels without a prefix alone.
    """
    spec = obj["spec"]
    if spec.get("manualSelector") or spec.get("selector") is None:
        return
    uid, name = metadata(obj).get("uid") or "", name_of(obj)
    if not uid:
        yield required("metadata.uid")
    expected = {_OLD_CONTROLLER: uid, _OLD_NAME: name}
    before = labels_of(at(old, "spec", "template") or {})
    if (old is None or (CONTROLLER in before and NAME in before)) and behaviour.applies("prefixed-labels-of-jobs"):
        expected |= {CONTROLLER: uid, NAME: name}
    for key, value in expected.items():
        yield from _validate_label(f"spec.template.metadata.labels[{key}]", spec.get("template") or {}, key, value)
    chosen = selector_of(spec["selector"])
    if chosen is not None and not chosen.matches(expected):
        yield invalid_value("spec.selector", shown_selector(spec["selector"]), "`selector` not auto-generated")


def _validate_label(path: str, template: Object, key: str, expected: str) -> Errors:
    present = labels_of(template)
    if key not in present:
        yield required(path, f"must be '{expected}'")
    elif present[key] != expected:
        yield invalid_value(path, text_map(present), f"must be '{expected}'")


def _validate_whole_spec(behaviour: ServedBehaviour, spec: Object) -> Errors:
    yield from placed("spec", JOB_SPEC(behaviour, spec))
    selector, template = spec.get("selector"), spec.get("template") or {}
    if selector is None:
        yield required("spec.selector")
    else:
        yield from validate_label_selector(behaviour, selector, "spec.selector")
    yield from validate_mismatch("spec.template", template, selector_of(selector))


def _validate_hostname(obj: Object) -> Errors:
    spec = obj["spec"]
    if spec.get("completionMode") == "Indexed" and (spec.get("completions") or 0) > 0:
        host = f"{name_of(obj)}-{spec['completions'] - 1}"
        if dns_label(host):
            text = f"will not able to create pod with invalid DNS label: {host}"
            yield invalid_value("metadata.name", name_of(obj), text)


def _validate_change(behaviour: ServedBehaviour, spec: Object, old: Object, live: Object) -> Errors:
    yield from _validate_completion(behaviour, spec, old)
    if spec.get("selector") != old.get("selector"):
        yield invalid_value("spec.selector", shown_selector(spec.get("selector")), FIXED)
    template, before = spec.get("template") or {}, old.get("template") or {}
    started = at(live, "status", "startTime") is not None
    if old.get("suspend") and (_may_change(live) if behaviour.applies("directives-of-suspended-jobs") else not started):
        before = _directed(behaviour, template, before)
    if old.get("suspend") and _may_change(live) and behaviour.applies("resources-of-suspended-jobs"):
        yield from _validate_pod(template.get("spec") or {}, before.get("spec") or {})
    elif template != before:
        yield invalid_value("spec.template", template_text(template), FIXED)
    for name in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        if spec.get(name) != old.get(name):
            kind, value = _STRUCTURES.get(name), spec.get(name)
            yield invalid_value(f"spec.{name}", structure(kind, value) if kind and value is not None else value, FIXED)


def _may_change(live: Object) -> bool:
    """True if no pod of a suspended job is left."""
    status = live.get("status") or {}
    suspended = {(one.get("type"), one.get("status")) for one in status.get("conditions") or ()}
    rests = status.get("startTime") is None or ("Suspended", "True") in suspended
    return rests and not status.get("active")


def _validate_pod(spec: Object, old: Object) -> Errors:
    """Only the resources of containers may differ."""
    before = dict(old)
    for name in ("containers", "initContainers"):
        pairs = list(zip(old.get(name) or (), spec.get(name) or (), strict=False))
        if pairs and len(old.get(name) or ()) == len(spec.get(name) or ()):
            before[name] = [
                {**one, "resources": new.get("resources")} if one.get("name") == new.get("name") else one
                for one, new in pairs
            ]
    if spec != before:
        yield invalid_value("spec.template.spec", structure("core.PodSpec", spec), FIXED)


_STRUCTURES: Final = {"podFailurePolicy": "batch.PodFailurePolicy", "successPolicy": "batch.SuccessPolicy"}


def _validate_completion(behaviour: ServedBehaviour, spec: Object, old: Object) -> Errors:
    completions = spec.get("completions")
    if completions == old.get("completions"):
        return
    if spec.get("completionMode") != "Indexed" or not behaviour.applies("elastic-indexed-jobs"):
        yield invalid_value("spec.completions", completions, FIXED)
    elif completions is not None and completions != spec.get("parallelism"):
        yield invalid_value("spec.completions", completions, "can only be modified in tandem with spec.parallelism")


def _directed(behaviour: ServedBehaviour, template: Object, old: Object) -> Object:
    """The old template with the changes that are allowed before the job first runs: other labels, other node
    selectors."""
    spec, before = template.get("spec") or {}, dict(old.get("spec") or {})
    gates = ("schedulingGates",) if behaviour.applies("gates-of-suspended-jobs") else ()
    for name in ("nodeSelector", "tolerations", *gates):
        before.pop(name, None)
        if name in spec:
            before[name] = spec[name]
    affinity = {key: value for key, value in (before.get("affinity") or {}).items() if key != "nodeAffinity"}
    wanted = spec.get("affinity") or {}
    if "nodeAffinity" in wanted:
        affinity["nodeAffinity"] = wanted["nodeAffinity"]
    before.pop("affinity", None)
    if affinity or "affinity" in spec:
        before["affinity"] = affinity
    noted, given = dict(old.get("metadata") or {}), template.get("metadata") or {}
    for name in ("labels", "annotations"):
        noted.pop(name, None)
        if name in given:
            noted[name] = given[name]
    return {**old, "metadata": noted, "spec": before}


def _warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[str]:
    if old is not None and obj["metadata"].get("generation") == old["metadata"].get("generation"):
        return ()
    named = name_warnings(behaviour, obj) if old is None else ()
    return [
        *named,
        *many_warnings(behaviour, "spec", obj["spec"]),
        *pod_warnings(behaviour, "spec.template", obj["spec"]["template"]),
    ]


_MANY: Final = (
    "In Indexed Jobs with a number of completions higher than 100000 and a parallelism higher than 10000, Kubernetes "
    "might not be able to track completedIndexes when a big number of indexes fail"
)


def many_warnings(behaviour: ServedBehaviour, path: str, spec: Object) -> Iterator[str]:
    """The warning of jobs that are too large to count reliably."""
    completions, parallelism = spec.get("completions") or 0, spec.get("parallelism") or 0
    many = completions > 100_000 and parallelism > 10_000
    if spec.get("completionMode") == "Indexed" and many and behaviour.applies("many-completions-warned"):
        yield f"{path}: {_MANY}"


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    listed = names_and_images(spec.get("template"))
    counted, passed = _completions(spec, status), _passed(status, now)
    return [name_of(obj), _state(obj), counted, passed, created(obj, now), *listed, selector_text(spec.get("selector"))]


def _completions(spec: Object, status: Object) -> str:
    done, parallelism = status.get("succeeded") or 0, spec.get("parallelism") or 0
    if spec.get("completions") is not None:
        return f"{done}/{spec['completions']}"
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _passed(status: Object, now: float) -> str:
    start, end = status.get("startTime"), status.get("completionTime")
    if not start:
        return ""
    return duration((moment(end) if end else now) - moment(start))


def _state(obj: Object) -> str:
    conditions = at(obj, "status", "conditions") or ()
    true = {one.get("type") for one in conditions if one.get("status") == "True"}
    for name in ("Complete", "Failed"):
        if name in true:
            return name
    if metadata(obj).get("deletionTimestamp"):
        return "Terminating"
    return next((name for name in ("Suspended", "FailureTarget") if name in true), "Running")


STRATEGY = Strategy(
    # a job without labels has those of its pods, which are not known before its selector is made
    stores_defaults_late=lambda obj: not labels_of(obj) and bool(labels_of(obj["spec"].get("template") or {})),
    metadata_checks=MetadataChecks((WHOLE,), after=(CHANGES,)),
    default=_default,
    prepare=_prepare,
    validate=_validate,
    validate_last=_validate_last,
    raises_generation=spec_differs,
    has_generation=has_generation,
    selectable_fields=lambda obj: {"status.successful": str(at(obj, "status", "succeeded") or 0)},
    print_row=_row,
    subresources={"status": Subresource(keep_all_but_status, validate_job_status)},
    warnings=_warnings,
    delete_strategy=DeleteStrategy(orphans_by_default=True, orphan_warning=_ORPHANS),
)
