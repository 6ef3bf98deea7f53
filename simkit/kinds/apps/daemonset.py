"""Strategy of DaemonSet: defaulting, preparation, validation, printer columns.

Follows ``pkg/registry/apps/daemonset/strategy.go`` and ``pkg/apis/apps/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from simkit.kinds.parts.cells import created, pairs, selector_text
from simkit.kinds.parts.copy_on_write import keep_all_but_status, own_copy
from simkit.kinds.parts.go_printing.structures import number_or_text, structure
from simkit.kinds.parts.go_printing.structures import selector as shown_selector
from simkit.kinds.parts.pod.defaults import default_template
from simkit.kinds.parts.pod.template import names_and_images, prepare_template, validate_lasting, validate_template
from simkit.kinds.parts.template_owner import (
    FIRST,
    changing_selectors,
    counts_checked,
    default_missing,
    keeping_dependents,
    selector_of,
    template_warnings,
    validate_immutable_selector,
    validate_mismatch,
    validate_nonnegative_fields,
)
from simkit.kinds.parts.validation.fields import (
    int_or_percent_value,
    validate_at_most_100_percent,
    validate_int_or_percent,
)
from simkit.kinds.parts.validation.object_meta import validate_label_selector
from simkit.kinds.strategy import Strategy, Subresource, checked_twice, spec_differs
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, FieldError, invalid_value, required, unsupported
from simkit.meta.integers import parse_int
from simkit.meta.objects import Draft, Object, annotations_of, at, name_of

GENERATION: Final = "deprecated.daemonset.template.generation"
_FIRST: Final = {"currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0, "numberReady": 0}
_ONCE: Final = "daemon-sets-checked-once"
_COUNTS: Final = (
    *_FIRST,
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
)


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    spec = own_copy(draft, "spec")
    default_missing(spec, {"revisionHistoryLimit": 10})
    strategy = own_copy(spec, "updateStrategy")
    strategy["type"] = strategy.get("type") or "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        default_missing(own_copy(strategy, "rollingUpdate"), {"maxUnavailable": 1, "maxSurge": 0})
    elif strategy.get("rollingUpdate"):  # amounts that are no pointers inside of kube-apiserver
        default_missing(own_copy(strategy, "rollingUpdate"), {"maxUnavailable": 0, "maxSurge": 0})
    spec.setdefault("template", {})
    default_template(behaviour, spec)


def _prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    prepare_template(behaviour, own_copy(draft, "spec"), at(old, "spec", "template", "spec"))
    if old is None:
        draft["status"] = dict(_FIRST)
        number = max(_number(draft), 1)
    else:
        number = _number(old) + (at(draft, "spec", "template") != at(old, "spec", "template"))
    draft["metadata"]["annotations"] = {**annotations_of(draft), GENERATION: str(number)}


def _number(obj: Object) -> int:
    return parse_int(annotations_of(obj).get(GENERATION, "")) or 0


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    spec = obj["spec"]
    selector, template = spec.get("selector"), spec.get("template") or {}
    errors = [*validate_label_selector(behaviour, selector, "spec.selector")]
    chosen = selector_of(selector)
    errors += validate_mismatch("spec.template", template, chosen)
    if selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        text = "empty selector is invalid for daemonset"
        errors.append(invalid_value("spec.selector", shown_selector(selector), text))
    errors += validate_template(behaviour, "spec.template", template)
    errors += validate_lasting("spec.template", template, "DaemonSet")
    errors += validate_nonnegative_fields("spec", spec, ("minReadySeconds",))
    errors += _validate_strategy(behaviour, "spec.updateStrategy", spec.get("updateStrategy") or {})
    errors += validate_nonnegative_fields("spec", spec, ("revisionHistoryLimit",))
    return [*validate_immutable_selector(obj, old), *errors] if old is not None and behaviour.applies(_ONCE) else errors


def _validate_last(behaviour: ServedBehaviour, obj: Object, old: Object) -> Sequence[FieldError]:
    return () if behaviour.applies(_ONCE) else list(validate_immutable_selector(obj, old))


def _validate_strategy(behaviour: ServedBehaviour, path: str, strategy: Object) -> Errors:
    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    if kind == "RollingUpdate":
        if rolling is None:
            yield required(f"{path}.rollingUpdate")
        else:
            yield from _validate_rolling(behaviour, f"{path}.rollingUpdate", rolling)
    elif kind != "OnDelete":
        shown = structure("apps.DaemonSetUpdateStrategy", strategy)
        yield unsupported(path, shown, ("RollingUpdate", "OnDelete"))


def _validate_rolling(behaviour: ServedBehaviour, path: str, rolling: Object) -> Errors:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    both: Sequence[tuple[str, Any]] = ((f"{path}.maxUnavailable", unavailable), (f"{path}.maxSurge", surge))
    surges = behaviour.applies("daemon-sets-surge")
    if not surges:
        both = both[:1]
    for check in (validate_int_or_percent, validate_at_most_100_percent):
        for where, value in both:
            yield from check(behaviour, where, value)
    if surges and int_or_percent_value(unavailable) and int_or_percent_value(surge):
        text = "may not be set when maxUnavailable is non-zero"
        yield invalid_value(f"{path}.maxSurge", number_or_text(surge), text)
    elif not int_or_percent_value(unavailable) and not surges:
        yield invalid_value(f"{path}.maxUnavailable", number_or_text(unavailable), "cannot be 0")
    elif not int_or_percent_value(unavailable) and not int_or_percent_value(surge):
        yield required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    names = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady")
    counts = [status.get(name) or 0 for name in (*names, "updatedNumberScheduled", "numberAvailable")]
    nodes = pairs(at(spec, "template", "spec", "nodeSelector"))
    listed = names_and_images(spec.get("template"))
    return [name_of(obj), *counts, nodes, created(obj, now), *listed, selector_text(spec.get("selector"))]


_STABLE: Final = Strategy(
    default=_default,
    empty={"metadata": {"annotations": {GENERATION: "0"}}},
    version_annotations=frozenset({GENERATION}),
    prepare=_prepare,
    metadata_checks=checked_twice(_ONCE),
    validate=_validate,
    validate_last=_validate_last,
    raises_generation=spec_differs,
    print_row=_row,
    subresources={"status": Subresource(keep_all_but_status, counts_checked(_COUNTS))},
    warnings=template_warnings,
)
STRATEGY = replace(
    _STABLE, older_versions={**changing_selectors(_STABLE, FIRST), **keeping_dependents(_STABLE, "apps/v1beta2")}
)
