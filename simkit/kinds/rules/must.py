"""What a value must be: the checks that stand in rows, each with its error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from simkit.kinds.rules.row import NONE, Check, Needed, Show
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, too_long, too_many, unsupported
from simkit.meta.fielderror import required as required_field
from simkit.meta.wording import Text, joined


def be_given(detail: Text = "", *, pointer: bool = False) -> Check:
    """The check of a field that must have a value, which says why; ``pointer`` tells whether an empty value is one."""
    return Needed(detail, pointer=pointer)


def be(rule: Callable[[str], Sequence[Text]], *, joint: str = "") -> Check:
    """The check of a text's format, by a function that returns what is wrong with it: one error, where there is a
    ``joint`` between its parts."""

    def check(behaviour: ServedBehaviour, value: str) -> Sequence[FieldError]:
        wrong = rule(value)
        return [invalid_value("", value, each) for each in ([joined(joint, wrong)] if joint and wrong else wrong)]

    return check


def be_one_of(*choices: str) -> Check:
    """The check of a text that is one of a few, which the error lists in this order."""

    def check(behaviour: ServedBehaviour, value: str) -> Sequence[FieldError]:
        return NONE if value in choices else (unsupported("", value, choices),)

    return check


def hold(test: Callable[[Any], Any], detail: Text, shown: Show | None = None) -> Check:
    """The check of a value for which a test holds."""

    def check(behaviour: ServedBehaviour, value: Any) -> Sequence[FieldError]:
        return NONE if test(value) else (invalid_value("", shown(value) if shown else value, detail),)

    return check


def be_otherwise(detail: Text, shown: Show | None = None) -> Check:
    """The error of any value, where the condition of the row says when."""
    return lambda _, value: (invalid_value("", shown(value) if shown else value, detail),)


def be_set(detail: Text) -> Check:
    """The error of a field that needs a better value, where the condition of the row says when."""
    errors = (required_field("", detail),)
    return lambda _, __: errors


def be_refused(detail: Text) -> Check:
    """The error of a value that is forbidden, set or not, where the condition of the row says when."""
    errors = (forbidden_field("", detail),)
    return lambda _, __: errors


def be_absent(detail: Text, *, pointer: bool = False) -> Check:
    """The error of a field that has a value, where the condition of the row says when.

    ``pointer`` tells whether an empty value is one.
    """

    def check(behaviour: ServedBehaviour, value: Any) -> Sequence[FieldError]:
        return (forbidden_field("", detail),) if value or pointer else NONE

    return check


def be_between(low: int, high: int, detail: Text = "") -> Check:
    """The check of a number within bounds, both inclusive."""
    told = detail or f"must be between {low} and {high}, inclusive"
    return hold(lambda value: low <= value <= high, told)


def be_at_least(low: int) -> Check:
    """The check of a number that is not below a bound."""
    return hold(lambda value: value >= low, f"must be greater than or equal to {low}")


def be_at_most(high: int) -> Check:
    """The check of a number that is not above a bound."""
    return hold(lambda value: value <= high, f"must be less than or equal to {high}")


be_nonnegative: Final = be_at_least(0)
be_positive: Final = hold(lambda value: value > 0, "must be greater than 0")
be_above_zero: Final = hold(lambda value: value > 0, "must be greater than zero")


def have_at_most(limit: int) -> Check:
    """The check of the number of a list's items."""

    def check(behaviour: ServedBehaviour, value: Sequence[Any]) -> Sequence[FieldError]:
        return NONE if len(value) <= limit else (too_many("", len(value), limit),)

    return check


def have_at_most_bytes(limit: int) -> Check:
    """The check of the length of a text in UTF-8."""
    errors = (too_long("", limit),)
    return lambda _, value: errors if len(value.encode()) > limit else NONE


def be_no_longer_than(limit: int) -> Check:
    """The check of the length of a text or list."""

    def check(behaviour: ServedBehaviour, value: Sequence[Any]) -> Sequence[FieldError]:
        return NONE if len(value) <= limit else (too_long("", limit),)

    return check
