"""Validation, defaulting and warnings of kinds that make pods from a template.

Follows ``pkg/apis/apps/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from simkit.kinds.parts.cells import columns, number
from simkit.kinds.parts.copy_on_write import own_copy, prepared
from simkit.kinds.parts.go_printing.structures import selector as shown_selector
from simkit.kinds.parts.go_printing.structures import text_map
from simkit.kinds.parts.pod.template import names_and_images, prepare_template, validate_lasting, validate_template
from simkit.kinds.parts.pod.warnings import pod_warnings
from simkit.kinds.parts.validation.fields import validate_nonnegative
from simkit.kinds.parts.validation.object_meta import validate_label_selector
from simkit.kinds.strategy import DeleteStrategy, RowPrinter, Strategy, Validate
from simkit.meta import labels
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, FieldError, invalid_value, required
from simkit.meta.name_validation import dns_label, label_value, qualified_name
from simkit.meta.objects import Draft, Object, at, labels_of, name_of
from simkit.meta.wording import joined, told

_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")


def has_generation(behaviour: ServedBehaviour) -> bool:
    """True if jobs, cron jobs and pod templates have a generation at the served release."""
    return behaviour.applies("jobs-have-generations")


def selector_of(selector: Object | None) -> labels.LabelSelector | None:
    """The selector of an object; None if it is invalid."""
    for expression in (selector or {}).get("matchExpressions") or ():
        operator, values = expression.get("operator"), expression.get("values") or ()
        lists = operator in ("In", "NotIn")
        if operator not in _OPERATORS or lists != bool(values):
            return None
        if qualified_name(expression.get("key") or "") or any(label_value(value) for value in values):
            return None
    for key, value in ((selector or {}).get("matchLabels") or {}).items():
        if qualified_name(key) or label_value(value):
            return None
    return labels.of_object(selector)


def validate_selector(behaviour: ServedBehaviour, path: str, selector: Object | None, kind: str) -> Errors:
    """The errors of the selector of a workload, which is required and must not be empty."""
    if selector is None:
        yield required(path)
        return
    yield from validate_label_selector(behaviour, selector, path)
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield invalid_value(path, shown_selector(selector), f"empty selector is invalid for {kind}")


def validate_mismatch(path: str, template: Object | None, chosen: labels.LabelSelector | None) -> Errors:
    """The error of a template that the selector does not match."""
    if chosen is not None and not chosen.matches(labels_of(template or {})):
        shown = text_map(at(template, "metadata", "labels"))
        yield invalid_value(f"{path}.metadata.labels", shown, "`selector` does not match template `labels`")


def validate_selecting(behaviour: ServedBehaviour, spec: Object) -> Errors:
    """The errors of the selector and the template of a deployment or replica set."""
    selector = spec.get("selector")
    yield from validate_selector(behaviour, "spec.selector", selector, "deployment")
    chosen = selector_of(selector)
    if chosen is None:
        yield invalid_value("spec.selector", shown_selector(selector), "invalid label selector")
    else:
        yield from validate_replicated(behaviour, "spec.template", spec, "ReplicaSet", chosen)


def validate_replicated(
    behaviour: ServedBehaviour, path: str, spec: Object, kind: str, chosen: labels.LabelSelector
) -> Errors:
    """The errors of the template of a kind with replicas."""
    template = spec.get("template") or {}
    yield from validate_mismatch(path, template, chosen)
    yield from validate_template(behaviour, path, template)
    yield from validate_lasting(path, template, kind)


def validate_immutable_selector(obj: Object, old: Object) -> Errors:
    """The error of a changed selector, which is immutable."""
    selector = at(obj, "spec", "selector")
    if selector != at(old, "spec", "selector"):
        yield invalid_value("spec.selector", shown_selector(selector), "field is immutable")


def validate_nonnegative_fields(path: str, holder: Object, names: Sequence[str]) -> Errors:
    """The errors of negative counts."""
    for name in names:
        yield from validate_nonnegative(f"{path}.{name}", holder.get(name))


def name_warnings(behaviour: ServedBehaviour, obj: Object, use: str = "Pod names and hostnames") -> Iterator[str]:
    """The warning about a name that is no valid host name, if pods derive theirs from it."""
    wrong = dns_label(name_of(obj))
    if wrong and behaviour.applies("names-of-hosts-warned"):
        listed = told(joined(" ", wrong), behaviour)
        yield (
            f"metadata.name: this is used in {use}, which can result in surprising behavior; "
            f"a DNS label is recommended: [{listed}]"
        )


def template_warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Iterable[str]:
    """The warnings about a workload's pod template, if anything of the workload has changed."""
    if old is not None and obj["metadata"].get("generation") == old["metadata"].get("generation"):
        return ()
    return pod_warnings(behaviour, "spec.template", at(obj, "spec", "template") or {})


def workload_warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[str]:
    """The warnings about the template, and about a name that does not suit its pods."""
    named = name_warnings(behaviour, obj) if old is None else ()
    return [*named, *template_warnings(behaviour, obj, old)]


def default_missing(holder: Draft, values: Mapping[str, Any]) -> None:
    """Set missing fields; the draft must own the holder."""
    for name, value in values.items():
        if holder.get(name) is None:
            holder[name] = value


FIRST: Final = "extensions/v1beta1"
_STAY: Final = DeleteStrategy(orphans_by_default=True)


def keeping_dependents(rules: Strategy, *versions: str) -> Mapping[str, Strategy]:
    """The strategies of versions in which a delete orphans dependents by default."""
    return dict.fromkeys(versions, replace(rules, delete_strategy=_STAY))


def changing_selectors(rules: Strategy, *versions: str) -> Mapping[str, Strategy]:
    """The strategies of versions in which, moreover, the selector of an object may change."""

    def validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Iterable[FieldError]:
        return rules.validate(behaviour, obj, _selecting(old, obj) if old is not None else None)

    def validate_last(behaviour: ServedBehaviour, obj: Object, old: Object) -> Iterable[FieldError]:
        return rules.validate_last(behaviour, obj, _selecting(old, obj))

    return keeping_dependents(replace(rules, validate=validate, validate_last=validate_last), *versions)


def _selecting(old: Object, obj: Object) -> Object:
    """The stored object with the selector of the new one."""
    return {**old, "spec": {**(old.get("spec") or {}), "selector": obj["spec"].get("selector")}}


_COUNTS: Final = (
    "replicas",
    "fullyLabeledReplicas",
    "readyReplicas",
    "availableReplicas",
    "observedGeneration",
    "terminatingReplicas",
)
SERVING: Final = (
    ("readyReplicas", "replicas"),
    ("availableReplicas", "replicas"),
    ("availableReplicas", "readyReplicas"),
)
"""Counts that may not exceed others."""
_PARTS: Final = (("fullyLabeledReplicas", "replicas"), *SERVING)
EXCEEDING: Final = {
    "replicas": "cannot be greater than status.replicas",
    "readyReplicas": "cannot be greater than readyReplicas",
}
"""The error of a count above one of these."""


def counts_checked(
    counts: Sequence[str],
    parts: Sequence[tuple[str, str]] = (),
    text: Mapping[str, str] = EXCEEDING,
    *,
    collisions: bool = True,
) -> Validate:
    """The validation of a status: counts, those that are part of others, and whether the count of collisions fell."""

    def validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Errors:
        status, before = obj.get("status") or {}, at(old, "status", "collisionCount")
        yield from validate_nonnegative_fields("status", status, counts)
        for part, whole in parts:
            value = status.get(part) or 0
            if value > (status.get(whole) or 0):
                yield invalid_value(f"status.{part}", value, text[whole])
        now = status.get("collisionCount")
        if collisions and before is not None and (now is None or now < before):
            yield invalid_value("status.collisionCount", now or 0, "cannot be decremented")

    return validate


validate_replica_status: Final = counts_checked(_COUNTS, _PARTS, collisions=False)
"""The validation of the status of a replica set or replication controller."""


def replica_row(selector: Callable[[Object], str]) -> RowPrinter:
    """A printer of a replica set or replication controller, with its selector as the last column."""
    counts = columns(number("spec.replicas"), number("status.replicas"), number("status.readyReplicas"))
    return lambda behaviour, obj, now: [
        *counts(behaviour, obj, now),
        *names_and_images(at(obj, "spec", "template")),
        selector(obj),
    ]


def prepared_workload(status: Object) -> Callable[[ServedBehaviour, Draft, Object | None], None]:
    """A preparation of the pod template; a new object begins with this status."""
    prepare_status = prepared(status=status)

    def prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
        prepare_template(behaviour, own_copy(draft, "spec"), at(old, "spec", "template", "spec"))
        prepare_status(behaviour, draft, old)

    return prepare
