"""Validation of the ``successPolicy`` of a job.

Follows ``pkg/apis/batch/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.validation.fields import validate_nonnegative
from simkit.meta.fielderror import FieldError, invalid_value, quoted, required, too_long, too_many
from simkit.meta.integers import parse_int
from simkit.meta.objects import Object, at

_MOST_RULES: Final = 20
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
