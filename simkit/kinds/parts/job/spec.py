"""Validation of the spec of jobs and of job templates.

Follows ``pkg/apis/batch/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.go_printing.structures import structure, whole_numbers
from simkit.kinds.parts.pod.template import validate_template
from simkit.kinds.parts.template_owner import validate_nonnegative_fields
from simkit.kinds.parts.validation.fields import repeats, validate_domain_path, validate_nonnegative
from simkit.kinds.parts.validation.object_meta import validate_qualified_name
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import (
    OMITTED,
    FieldError,
    Shown,
    duplicate,
    invalid_value,
    quoted,
    required,
    too_long,
    too_long_text,
    too_many,
    unsupported,
)
from simkit.meta.integers import parse_int
from simkit.meta.objects import Object, at
from simkit.meta.podspec import NON_EPHEMERAL, containers_of

_EVERY_ACTION: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS: Final = ("In", "NotIn")
_STATUSES: Final = ("False", "True", "Unknown")
_MOST_RULES: Final = 20
_MOST_CODES: Final = 255


def validate_failure_policy(behaviour: ServedBehaviour, path: str, spec: Object) -> Iterator[FieldError]:
    """The errors of the ``podFailurePolicy`` of a job."""
    rules = at(spec, "podFailurePolicy", "rules") or ()
    if len(rules) > _MOST_RULES:
        yield too_many(f"{path}.rules", len(rules), _MOST_RULES)
    names: set[Any] = {one.get("name") for one in containers_of(at(spec, "template", "spec") or {}, NON_EPHEMERAL)}
    for index, rule in enumerate(rules):
        at_rule = f"{path}.rules[{index}]"
        yield from _validate_action(behaviour, f"{at_rule}.action", rule.get("action") or "", spec)
        yield from _validate_match(behaviour, at_rule, rule, names)


def _choices(values: Sequence[str]) -> str:
    listed = " ".join(map(quoted, values))
    return f"valid values: [{listed}]"


def _actions(behaviour: ServedBehaviour) -> Sequence[str]:
    """The actions of the release."""
    return (
        _EVERY_ACTION
        if behaviour.applies("indexes-fail-alone")
        else [each for each in _EVERY_ACTION if each != "FailIndex"]
    )


def _validate_action(behaviour: ServedBehaviour, path: str, action: str, spec: Object) -> Iterator[FieldError]:
    if not action:
        yield required(path, _choices(_actions(behaviour)))
    elif action not in _actions(behaviour):
        yield unsupported(path, action, _actions(behaviour))
    elif action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        yield invalid_value(path, action, "requires the backoffLimitPerIndex to be set")


def _validate_match(behaviour: ServedBehaviour, path: str, rule: Object, names: set[str]) -> Iterator[FieldError]:
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
    if codes is not None:
        yield from _validate_code(f"{path}.onExitCodes", codes, names)
    if conditions:
        yield from _validate_condition(behaviour, f"{path}.onPodConditions", conditions)
    if codes is not None and conditions:
        yield invalid_value(path, OMITTED, "specifying both OnExitCodes and OnPodConditions is not supported")
    if codes is None and not conditions:
        yield invalid_value(path, OMITTED, "specifying one of OnExitCodes and OnPodConditions is required")


def _validate_code(path: str, codes: Object, names: set[str]) -> Iterator[FieldError]:
    operator, values = codes.get("operator") or "", codes.get("values") or ()
    if not operator:
        yield required(f"{path}.operator", _choices(_OPERATORS))
    elif operator not in _OPERATORS:
        yield unsupported(f"{path}.operator", operator, _OPERATORS)
    name = codes.get("containerName")
    if name is not None and name not in names:
        text = "must be one of the container or initContainer names in the pod template"
        yield invalid_value(f"{path}.containerName", name, text)
    if not values:
        shown = whole_numbers(values) if codes.get("values") is not None else Shown("[]int32(nil)", None)
        yield invalid_value(f"{path}.values", shown, "at least one value is required")
    elif len(values) > _MOST_CODES:
        yield too_many(f"{path}.values", len(values), _MOST_CODES)
    again = repeats(values)
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            yield invalid_value(f"{path}.values[{index}]", value, "must not be 0 for the In operator")
        if index in again:
            yield duplicate(f"{path}.values[{index}]", value)
    if sorted(values) != list(values):
        yield invalid_value(f"{path}.values", whole_numbers(values), "must be ordered")


def _validate_condition(behaviour: ServedBehaviour, path: str, conditions: Sequence[Object]) -> Iterator[FieldError]:
    if len(conditions) > _MOST_RULES:
        yield too_many(path, len(conditions), _MOST_RULES)
    for index, condition in enumerate(conditions):
        status = condition.get("status") or ""
        yield from validate_qualified_name(behaviour, f"{path}[{index}].type", condition.get("type") or "")
        if not status:
            yield required(f"{path}[{index}].status", _choices(_STATUSES))
        elif status not in _STATUSES:
            yield unsupported(f"{path}[{index}].status", status, _STATUSES)


_LONGEST: Final = 64 * 1024


class BadIndexes(ValueError):
    """A text that is no set of indexes; the message is kube-apiserver's."""


def validate_success_policy(path: str, spec: Object) -> Iterator[FieldError]:
    """The errors of the ``successPolicy`` of a job."""
    if spec.get("completionMode") != "Indexed":
        shown = structure("batch.SuccessPolicy", spec["successPolicy"])
        yield invalid_value(path, shown, "requires indexed completion mode")
        return
    rules = at(spec, "successPolicy", "rules") or ()
    if not rules:
        yield required(f"{path}.rules", "at least one rules must be specified when the successPolicy is specified")
    if len(rules) > _MOST_RULES:
        yield too_many(f"{path}.rules", len(rules), _MOST_RULES)
    for index, rule in enumerate(rules):
        yield from _validate_rule(f"{path}.rules[{index}]", rule, spec.get("completions") or 0)


def _validate_rule(path: str, rule: Object, completions: int) -> Iterator[FieldError]:
    indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    if indexes is None and count is None:
        yield required(path, "at least one of succeededCount or succeededIndexes must be specified")
    named = 0
    if indexes is not None:
        if len(indexes.encode()) > _LONGEST:
            yield too_long(f"{path}.succeededIndexes", _LONGEST)
        try:
            named = counted(indexes, completions)
        except BadIndexes as error:
            yield invalid_value(f"{path}.succeededIndexes", indexes, f"error parsing succeededIndexes: {error}")
    if count is not None:
        where = f"{path}.succeededCount"
        yield from validate_nonnegative(where, count)
        if count > completions:
            text = f"must be less than or equal to {completions} (the number of specified completions)"
            yield invalid_value(where, count, text)
        if indexes is not None and count > named:
            text = (
                f"must be less than or equal to {named} (the number of indexes in the specified succeededIndexes field)"
            )
            yield invalid_value(where, count, text)


def counted(text: str, completions: int) -> int:
    """The number of indexes in a text.

    Raises
    ------
    BadIndexes
        Where it is not a list of indexes and spans that rise and stay below the number of completions.

    Examples
    --------
    >>> counted("1,3-5", 6)
    4
    """
    total, last = 0, -1
    for part in text.split(",") if text else ():
        first, end = _span(part, completions)
        if total and last >= first:
            raise _falling(last, first)
        total, last = total + end - first + 1, end
    return total


def _span(text: str, completions: int) -> tuple[int, int]:
    limits = text.split("-")
    if len(limits) > 2:
        raise BadIndexes(
            f"the fragment {quoted(text)} violates the requirement that an index interval can have at most two parts "
            "separated by '-'"
        )
    first, *more = (_index(limit, completions) for limit in limits)
    if more and first >= more[0]:
        raise _falling(first, more[0])
    return first, more[0] if more else first


def _index(text: str, completions: int) -> int:
    number = parse_int(text)
    if number is None:
        raise BadIndexes(f"cannot convert string to integer for index: {quoted(text)}")
    if number >= completions:
        raise BadIndexes(f"too large index: {quoted(text)}")
    return number


def _falling(previous: int, current: int) -> BadIndexes:
    return BadIndexes(f"non-increasing order, previous: {previous}, current: {current}")


def overlap(one: str, other: str, completions: int) -> int | None:
    """The first index that two texts have in common; None for none. What is no span is passed over.

    Examples
    --------
    >>> overlap("0-2,7", "1,7", 9)
    1
    """
    left, right = _spans(one, completions), _spans(other, completions)
    while left and right:
        first, second = left[0], right[0]
        if first[0] <= second[1] and second[0] <= first[1]:
            return max(first[0], second[0])
        (left if first[0] <= second[0] else right).pop(0)
    return None


def _spans(text: str, completions: int) -> list[tuple[int, int]]:
    found = []
    for part in text.split(",") if text else ():
        try:
            found.append(_span(part, completions))
        except BadIndexes:
            continue
    return found


_COUNTS: Final = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
MODES: Final = ("NonIndexed", "Indexed")
_MANY: Final = 100_000
_MOST_FAILED: Final = 10_000
_LONGEST_MANAGER: Final = 63
_ENDING: Final = ("OnFailure", "Never")


def validate_job_spec(behaviour: ServedBehaviour, path: str, spec: Object) -> Iterator[FieldError]:
    """All errors of the spec of a job, its selector left out."""
    yield from validate_nonnegative_fields(path, spec, (*_COUNTS, "backoffLimitPerIndex"))
    failed = spec.get("maxFailedIndexes")
    yield from validate_nonnegative(f"{path}.maxFailedIndexes", failed)
    if failed is not None and spec.get("backoffLimitPerIndex") is None:
        yield required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    if spec.get("managedBy") is not None:
        yield from _validate_manager(behaviour, f"{path}.managedBy", spec["managedBy"])
    yield from _validate_mode(path, spec)
    if spec.get("podFailurePolicy") is not None:
        yield from validate_failure_policy(behaviour, f"{path}.podFailurePolicy", spec)
    if spec.get("successPolicy") is not None:
        yield from validate_success_policy(f"{path}.successPolicy", spec)
    yield from _validate_replacement(f"{path}.podReplacementPolicy", spec)
    yield from validate_template(behaviour, f"{path}.template", spec.get("template") or {})
    yield from _validate_restart(f"{path}.template.spec.restartPolicy", spec)


def _validate_manager(behaviour: ServedBehaviour, path: str, name: str) -> Iterator[FieldError]:
    yield from validate_domain_path(behaviour, path, name)
    if len(name.encode()) > _LONGEST_MANAGER:
        yield too_long_text(path, _LONGEST_MANAGER)


def _validate_mode(path: str, spec: Object) -> Iterator[FieldError]:
    mode = spec.get("completionMode")
    if mode not in (None, *MODES):
        yield unsupported(f"{path}.completionMode", mode, MODES)
    if mode == "Indexed":
        yield from _validate_indexed(path, spec)
    if mode in (None, "NonIndexed"):
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(name) is not None:
                yield invalid_value(f"{path}.{name}", spec[name], "requires indexed completion mode")


def _validate_indexed(path: str, spec: Object) -> Iterator[FieldError]:
    completions, parallelism = spec.get("completions"), spec.get("parallelism")
    if completions is None:
        yield required(f"{path}.completions", "when completion mode is Indexed")
    if parallelism is not None and parallelism > _MANY:
        text = f"must be less than or equal to {_MANY} when completion mode is Indexed"
        yield invalid_value(f"{path}.parallelism", parallelism, text)
    failed, per_index = spec.get("maxFailedIndexes"), spec.get("backoffLimitPerIndex")
    if completions is not None and failed is not None and failed > completions:
        text = "must be less than or equal to completions"
        yield invalid_value(f"{path}.maxFailedIndexes", failed, text)
    if failed is not None and failed > _MANY:
        yield invalid_value(f"{path}.maxFailedIndexes", failed, f"must be less than or equal to {_MANY}")
    if completions is not None and completions > _MANY and per_index is not None:
        yield from _validate_large(path, spec)


def _validate_large(path: str, spec: Object) -> Iterator[FieldError]:
    failed, parallelism = spec.get("maxFailedIndexes"), spec.get("parallelism")
    when = f"when completions are above {_MANY} and used with backoff limit per index"
    if failed is None:
        yield required(f"{path}.maxFailedIndexes", f"must be specified when completions is above {_MANY}")
    for name, value in (("parallelism", parallelism), ("maxFailedIndexes", failed)):
        if value is not None and value > _MOST_FAILED:
            yield invalid_value(f"{path}.{name}", value, f"must be less than or equal to {_MOST_FAILED} {when}")


def _validate_replacement(path: str, spec: Object) -> Iterator[FieldError]:
    policy = spec.get("podReplacementPolicy")
    if policy is None:
        return
    allowed = ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
    if policy not in allowed:
        yield unsupported(path, policy, allowed)


def _validate_restart(path: str, spec: Object) -> Iterator[FieldError]:
    policy = at(spec, "template", "spec", "restartPolicy") or ""
    if policy in ("", "Always"):
        yield required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in _ENDING:
        yield unsupported(path, policy, _ENDING)
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        yield invalid_value(path, policy, 'only "Never" is supported when podFailurePolicy is specified')
