"""Validation of the spec of jobs and of job templates.

Follows ``pkg/apis/batch/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from simkit.kinds.parts.go_printing.structures import structure, whole_numbers
from simkit.kinds.parts.pod.template import validate_template
from simkit.kinds.parts.validation.fields import DOMAIN_PATH, repeats, validate_nonnegative
from simkit.kinds.parts.validation.object_meta import QUALIFIED
from simkit.kinds.rules import Condition, by, fields, items, must, placed, row, table
from simkit.kinds.rules.row import Row
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import (
    OMITTED,
    Errors,
    FieldError,
    Shown,
    duplicate,
    invalid_value,
    quoted,
    required,
    too_long,
    too_long_text,
    too_many,
)
from simkit.meta.integers import parse_int
from simkit.meta.objects import Object, at
from simkit.meta.podspec import NON_EPHEMERAL, containers_of

_STATUSES: Final = ("False", "True", "Unknown")
_MOST_RULES: Final = 20
_MOST_CODES: Final = 255
_ALONE: Final = "indexes-fail-alone"


def _chosen(field: str, *choices: str, when: Condition | None = None, since: str = "", until: str = "") -> Row:
    """The row of a field that must have one of some values, which its error lists if it has none."""
    listed = f"valid values: [{' '.join(map(quoted, choices))}]"
    return row(field, must.be_given(listed), must.be_one_of(*choices), when=when, since=since, until=until)


def _validate_values(behaviour: ServedBehaviour, path: str, codes: Object) -> Errors:
    """The errors of the values of exit codes."""
    values = codes.get("values") or ()
    if not values:
        shown = whole_numbers(values) if codes.get("values") is not None else Shown("[]int32(nil)", None)
        yield invalid_value(f"{path}.values", shown, "at least one value is required")
    elif len(values) > _MOST_CODES:
        yield too_many(f"{path}.values", len(values), _MOST_CODES)
    again = repeats(values)
    for index, value in enumerate(values):
        if codes.get("operator") == "In" and value == 0:
            yield invalid_value(f"{path}.values[{index}]", value, "must not be 0 for the In operator")
        if index in again:
            yield duplicate(f"{path}.values[{index}]", value)
    if sorted(values) != list(values):
        yield invalid_value(f"{path}.values", whole_numbers(values), "must be ordered")


def _omitted(_: Any) -> Any:
    return OMITTED


_CODES_GIVEN: Final = fields.present("onExitCodes")
_CONDITIONS_GIVEN: Final = fields.given("onPodConditions")
_RULE: Final = table(
    _chosen("action", "Count", "FailIndex", "FailJob", "Ignore", since=_ALONE),
    _chosen("action", "Count", "FailJob", "Ignore", until=_ALONE),
    row(
        "action",
        must.be_otherwise("requires the backoffLimitPerIndex to be set"),
        when=lambda rule: rule["action"] == "FailIndex" and rule["job"].get("backoffLimitPerIndex") is None,
        since=_ALONE,
    ),
    _chosen("onExitCodes.operator", "In", "NotIn", when=_CODES_GIVEN),
    row(
        "onExitCodes.containerName",
        must.be_otherwise("must be one of the container or initContainer names in the pod template"),
        when=lambda rule: rule["onExitCodes"]["containerName"] not in rule["names"],
        empty=True,
    ),
    row("onExitCodes", by(_validate_values)),
    row("onPodConditions", must.have_at_most(_MOST_RULES)),
    row("onPodConditions[]", row("type", QUALIFIED, zero=""), _chosen("status", *_STATUSES)),
    row(
        "",
        must.be_otherwise("specifying both OnExitCodes and OnPodConditions is not supported", _omitted),
        when=lambda rule: _CODES_GIVEN(rule) and _CONDITIONS_GIVEN(rule),
    ),
    row(
        "",
        must.be_otherwise("specifying one of OnExitCodes and OnPodConditions is required", _omitted),
        unless=lambda rule: _CODES_GIVEN(rule) or _CONDITIONS_GIVEN(rule),
    ),
)
"""The rows of a rule of a failure policy, which holds besides its fields the spec of its ``job`` and the ``names`` of
its containers."""
_RULES: Final = table(must.have_at_most(_MOST_RULES), items(_RULE))


def _validate_failure_policy(behaviour: ServedBehaviour, path: str, spec: Object) -> Sequence[FieldError]:
    """The errors of the ``podFailurePolicy`` of a job."""
    names = {one.get("name") for one in containers_of(at(spec, "template", "spec") or {}, NON_EPHEMERAL)}
    rules = [{**rule, "job": spec, "names": names} for rule in at(spec, "podFailurePolicy", "rules") or ()]
    return placed(f"{path}.podFailurePolicy.rules", _RULES(behaviour, rules))


_LONGEST: Final = 64 * 1024


class BadIndexes(ValueError):
    """A text that is no set of indexes; the message is kube-apiserver's."""


def _validate_success_policy(behaviour: ServedBehaviour, path: str, spec: Object) -> Errors:
    """The errors of the ``successPolicy`` of a job."""
    path = f"{path}.successPolicy"
    if spec.get("completionMode") != "Indexed":
        shown = structure("batch.SuccessPolicy", spec["successPolicy"])
        yield invalid_value(path, shown, "requires indexed completion mode")
        return
    yield from placed(path, _SUCCESS(behaviour, spec["successPolicy"]))
    for index, rule in enumerate(at(spec, "successPolicy", "rules") or ()):
        yield from _validate_rule(f"{path}.rules[{index}]", rule, spec.get("completions") or 0)


_SUCCESS: Final = table(
    row("rules", must.be_given("at least one rules must be specified when the successPolicy is specified")),
    row("rules", must.have_at_most(_MOST_RULES)),
)


def _validate_rule(path: str, rule: Object, completions: int) -> Errors:
    indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    if indexes is None and count is None:
        yield required(path, "at least one of succeededCount or succeededIndexes must be specified")
    limits = [(completions, "specified completions")]
    if indexes is not None:
        where, named = f"{path}.succeededIndexes", 0
        if len(indexes.encode()) > _LONGEST:
            yield too_long(where, _LONGEST)
        try:
            named = counted(indexes, completions)
        except BadIndexes as error:
            yield invalid_value(where, indexes, f"error parsing succeededIndexes: {error}")
        limits.append((named, "indexes in the specified succeededIndexes field"))
    if count is not None:
        yield from validate_nonnegative(f"{path}.succeededCount", count)
        for limit, name in limits:
            if count > limit:
                text = f"must be less than or equal to {limit} (the number of {name})"
                yield invalid_value(f"{path}.succeededCount", count, text)


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
_RESTART: Final = "template.spec.restartPolicy"
_INDEXED: Final = fields.equal("completionMode", "Indexed")
_NOT_INDEXED: Final = fields.equal("completionMode", None, "NonIndexed")
_WITH_FAILURE_POLICY: Final = fields.present("podFailurePolicy")
_FEW_FAILED: Final = must.hold(
    lambda count: count <= _MOST_FAILED,
    f"must be less than or equal to {_MOST_FAILED} when completions are above {_MANY} and used with backoff limit per "
    "index",
)


def _is_large(spec: Object) -> bool:
    """True for a job with very many indexes, of which each may fail by itself."""
    return _INDEXED(spec) and (spec.get("completions") or 0) > _MANY and spec.get("backoffLimitPerIndex") is not None


def _fails_more_than_all(spec: Object) -> bool:
    return _INDEXED(spec) and spec.get("completions") is not None and spec["maxFailedIndexes"] > spec["completions"]


def _validate_manager_length(behaviour: ServedBehaviour, path: str, name: str) -> Errors:
    if len(name.encode()) > _LONGEST_MANAGER:
        yield too_long_text(path, _LONGEST_MANAGER)


JOB_SPEC: Final = table(
    *(row(name, must.be_nonnegative) for name in (*_COUNTS, "backoffLimitPerIndex", "maxFailedIndexes")),
    row(
        "backoffLimitPerIndex",
        must.be_given("when maxFailedIndexes is specified", pointer=True),
        when=fields.present("maxFailedIndexes"),
    ),
    row("managedBy", table(DOMAIN_PATH, by(_validate_manager_length)), empty=True),
    row("completionMode", must.be_one_of(*MODES), empty=True),
    row("completions", must.be_given("when completion mode is Indexed", pointer=True), when=_INDEXED),
    row(
        "parallelism",
        must.hold(
            lambda count: count <= _MANY, f"must be less than or equal to {_MANY} when completion mode is Indexed"
        ),
        when=_INDEXED,
    ),
    row(
        "maxFailedIndexes",
        must.be_otherwise("must be less than or equal to completions"),
        when=_fails_more_than_all,
    ),
    row("maxFailedIndexes", must.be_at_most(_MANY), when=_INDEXED),
    row(
        "maxFailedIndexes",
        must.be_given(f"must be specified when completions is above {_MANY}", pointer=True),
        when=_is_large,
    ),
    row("parallelism", _FEW_FAILED, when=_is_large),
    row("maxFailedIndexes", _FEW_FAILED, when=_is_large),
    row("backoffLimitPerIndex", must.be_otherwise("requires indexed completion mode"), when=_NOT_INDEXED),
    row("maxFailedIndexes", must.be_otherwise("requires indexed completion mode"), when=_NOT_INDEXED),
    row("", by(_validate_failure_policy), when=_WITH_FAILURE_POLICY),
    row("", by(_validate_success_policy), when=fields.present("successPolicy")),
    row("podReplacementPolicy", must.be_one_of("Failed"), when=_WITH_FAILURE_POLICY, empty=True),
    row(
        "podReplacementPolicy",
        must.be_one_of("Failed", "TerminatingOrFailed"),
        unless=_WITH_FAILURE_POLICY,
        empty=True,
    ),
    row("template", by(validate_template), zero={}),
    row(
        _RESTART,
        must.be_set('valid values: "OnFailure", "Never"'),
        when=fields.equal(_RESTART, None, "", "Always"),
        zero="",
        empty=True,
    ),
    row(_RESTART, must.be_one_of("OnFailure", "Never"), unless=fields.equal(_RESTART, "Always")),
    row(
        _RESTART,
        must.be_otherwise('only "Never" is supported when podFailurePolicy is specified'),
        when=lambda spec: _WITH_FAILURE_POLICY(spec) and at(spec, *_RESTART.split(".")) == "OnFailure",
    ),
)
"""All rows of the spec of a job, its selector left out."""
