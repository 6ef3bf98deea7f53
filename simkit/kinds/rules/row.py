"""The interpreter of rules: rows, tables of rows, lists of items, compiled to closures when a kind is loaded.

Below: rules of whole objects, what a strategy validates, and what a change may not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, duplicate, forbidden_field, invalid_value
from simkit.meta.fielderror import required as required_field
from simkit.meta.objects import Object, at
from simkit.meta.wording import Text

Check = Callable[[ServedBehaviour, Any], Sequence[FieldError]]
"""A function of a value that returns its errors at a release, with fields relative to it."""
Condition = Callable[[Any], Any]
"""A predicate over the mapping that holds the field of a row."""
Show = Callable[[Any], Any]
"""A function that makes the value of an error, where it is not the field's own: a printed struct."""
_Asked = Callable[[ServedBehaviour, Any], bool]
"""A predicate over that mapping at a release."""

NONE: Final[Sequence[FieldError]] = ()
"""No errors."""


class Row:
    """One row: ``run`` is its check of the mapping that holds the field; see ``row``."""

    __slots__ = ("field", "of_absent", "run")

    def __init__(self, field: str, run: Check, *, of_absent: bool) -> None:
        self.field, self.run, self.of_absent = field, run, of_absent

    def __call__(self, behaviour: ServedBehaviour, holder: Any) -> Sequence[FieldError]:
        return self.run(behaviour, holder)


class Needed:
    """The check of a field that must have a value; a row that has it is asked of absent fields too."""

    __slots__ = ("detail", "pointer")

    def __init__(self, detail: Text = "", *, pointer: bool = False) -> None:
        self.detail, self.pointer = detail, pointer

    def __call__(self, behaviour: ServedBehaviour, value: Any) -> Sequence[FieldError]:
        return NONE if value or (self.pointer and value is not None) else (required_field("", self.detail),)


class Distinct:
    """The check of a list's items for values that an earlier item has; ``fresh`` makes the check of one list."""

    __slots__ = ("error", "field")

    def __init__(self, field: str, error: Callable[[str, Any], FieldError]) -> None:
        self.field, self.error = field, error

    def fresh(self) -> Check:
        """The check of the items of one list, to be called in their order."""
        seen = set[Any]()
        field, place = self.field, f".{self.field}" if self.field else ""

        def check(behaviour: ServedBehaviour, item: Any) -> Sequence[FieldError]:
            key = (item.get(field) or "") if field else item
            if key in seen:
                return (self.error(place, key),)
            seen.add(key)
            return NONE

        return check

    def __call__(self, behaviour: ServedBehaviour, value: Any) -> Sequence[FieldError]:
        raise TypeError("distinct stands in a row of a list")


REQUIRED: Final = Needed()
"""The check of a field that must have a value."""


def row(
    path: str,
    *checks: Check,
    when: Condition | None = None,
    unless: Condition | None = None,
    since: str = "",
    until: str = "",
    zero: Any = None,
    empty: bool = False,
    told: str = "",
) -> Row:
    """A check of the mapping that holds a field.

    The checks are asked one after the other until one fails; rows among them, which are about what is below the field,
    are all asked. An absent field and an empty text are right, unless the first check is ``REQUIRED``.

    Parameters
    ----------
    path
        The field, such as ``spec.strategy``; with ``[]`` at its end or within, every item of a list. An empty one is
        the mapping itself.
    when, unless
        What must hold, or not hold, of the mapping.
    since, until
        Changes of behaviour (``meta.behaviour``) that must apply, or not apply.
    zero
        The value of an absent field, where kube-apiserver checks it like any other: ``""``, ``0``, ``{}``.
    empty
        Whether an empty text is checked: a pointer in kube-apiserver.
    told
        The field in the errors, where it has another name there.
    """
    head, listed, rest = path.partition("[].")
    if listed:
        return row(
            f"{head}[]", row(rest, *checks, zero=zero, empty=empty), when=when, unless=unless, since=since, until=until
        )
    asked = _asked(when, unless, since, until)
    if not path:
        return Row("", _conditional(_chain(checks), asked), of_absent=True)
    field, of_items = path.removesuffix("[]"), path.endswith("[]")
    steps, place = field.split("."), f".{told or field}"
    first, single = steps[0], len(steps) == 1
    of_absent = zero is not None or (bool(checks) and isinstance(checks[0], Needed) and not of_items)
    check = items(*checks) if of_items else _chain(checks)
    skips_empty = not (empty or of_absent)

    def run(behaviour: ServedBehaviour, holder: Any) -> Sequence[FieldError]:
        value = holder.get(first) if single else at(holder, *steps)
        if value is None:
            if not of_absent:
                return NONE
            value = zero
        elif skips_empty and value == "":
            return NONE
        if asked is not None and not asked(behaviour, holder):
            return NONE
        errors = check(behaviour, value)
        return placed(place, errors) if errors else NONE

    return Row(first, run, of_absent=of_absent)


def _asked(when: Condition | None, unless: Condition | None, since: str, until: str) -> _Asked | None:
    """The conditions of a row as one; None for a row without any."""
    if when is None and unless is None and not since and not until:
        return None

    def asked(behaviour: ServedBehaviour, holder: Any) -> bool:
        if (since and not behaviour.applies(since)) or (until and behaviour.applies(until)):
            return False
        return (when is None or bool(when(holder))) and (unless is None or not unless(holder))

    return asked


def _conditional(check: Check, asked: _Asked | None) -> Check:
    """A check of the mapping itself, where the conditions hold."""
    if asked is None:
        return check
    return lambda behaviour, holder: check(behaviour, holder) if asked(behaviour, holder) else NONE


def _chain(checks: Sequence[Check]) -> Check:
    """The checks of one value: the first that fails, or all rows."""
    rows = [check for check in checks if isinstance(check, Row)]
    return first(*(check for check in checks if not isinstance(check, Row)), *([table(*rows)] if rows else ()))


def first(*checks: Check) -> Check:
    """The errors of the first of some checks that finds any."""
    if len(checks) == 1:
        return checks[0]

    def check(behaviour: ServedBehaviour, value: Any) -> Sequence[FieldError]:
        for step in checks:
            errors = step(behaviour, value)
            if errors:
                return errors
        return NONE

    return check


def items(*checks: Check) -> Check:
    """The check of a list, each item of which is checked."""
    once = None if any(isinstance(check, Distinct) for check in checks) else _chain(checks)

    def check(behaviour: ServedBehaviour, values: Any) -> Sequence[FieldError]:
        of_item = once or table(*(each.fresh() if isinstance(each, Distinct) else each for each in checks))
        found: list[FieldError] = []
        for index, item in enumerate(values):
            errors = of_item(behaviour, item)
            if errors:
                found += placed(f"[{index}]", errors)
        return found

    return check


def table(*checks: Check) -> Check:
    """All errors that some checks find in one value, in their order."""
    steps = [
        (check.field if not check.of_absent else "", check.run) if isinstance(check, Row) else ("", check)
        for check in checks
    ]

    def check(behaviour: ServedBehaviour, value: Any) -> Sequence[FieldError]:
        found: list[FieldError] = []
        for field, run in steps:
            if not field or field in value:
                errors = run(behaviour, value)
                if errors:
                    found += errors
        return found

    return check


def placed(path: str, errors: Iterable[FieldError]) -> list[FieldError]:
    """Errors of a value, told of the field at a path.

    Examples
    --------
    >>> [error.field for error in placed("spec.rules[0]", [required_field(".name")])]
    ['spec.rules[0].name']
    """
    return [FieldError(error.kind, path + error.field, error.value, error.detail) for error in errors]


def by(validate: Callable[[ServedBehaviour, str, Any], Iterable[FieldError]]) -> Check:
    """The check of a function that takes the release's behaviour, a path and a value."""

    def check(behaviour: ServedBehaviour, value: Any) -> Sequence[FieldError]:
        return list(validate(behaviour, "", value))

    return check


def distinct(field: str = "", error: Callable[[str, Any], FieldError] = duplicate) -> Distinct:
    """The check, in a row of a list, that no item has the value of an earlier one in a field, or is equal to it."""
    return Distinct(field, error)


Change = Callable[[ServedBehaviour, Object, Object], Sequence[FieldError]]
"""A function of a changed object and the stored one that returns the errors of the change at a release."""

FIXED: Final = "field is immutable"


def validation(
    *always: Check, created: Sequence[Check] = (), changed: Change | None = None
) -> Callable[[ServedBehaviour, Object, Object | None], Sequence[FieldError]]:
    """The ``validate`` of a strategy: rows, then those of new objects only, or the check of a change."""
    whole, new = table(*always), table(*always, *created)

    def validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
        if old is None:
            return at_root(new(behaviour, obj))
        return at_root([*whole(behaviour, obj), *(changed(behaviour, obj, old) if changed else ())])

    return validate


def last(check: Change) -> Change:
    """The ``validate_last`` of a strategy: the check of a change."""
    return lambda behaviour, obj, old: at_root(check(behaviour, obj, old))


def at_root(errors: Iterable[FieldError]) -> list[FieldError]:
    """Errors with fields relative to an object, as those of the object."""
    return [FieldError(error.kind, error.field.removeprefix("."), error.value, error.detail) for error in errors]


def fixed(
    *names: str,
    zero: Any = None,
    detail: Text = FIXED,
    forbidden: bool = False,
    shown: Show | None = None,
    told: str = "",
    since: str = "",
    until: str = "",
) -> Change:
    """The check that fields do not change.

    Parameters
    ----------
    names
        The fields, such as ``spec.leaseName``.
    zero
        The value of absent ones.
    detail, forbidden
        The words of the error, and whether it forbids the field instead of calling its value invalid.
    shown, told, since, until
        As in rows.
    """
    paths = [(f".{told or name}", name.split(".")) for name in names]

    def error(path: str, value: Any) -> FieldError:
        return (
            forbidden_field(path, detail)
            if forbidden
            else invalid_value(path, shown(value) if shown else value, detail)
        )

    def check(behaviour: ServedBehaviour, obj: Object, old: Object) -> Sequence[FieldError]:
        if (since and not behaviour.applies(since)) or (until and behaviour.applies(until)):
            return ()
        values = ((path, at(obj, *steps), at(old, *steps)) for path, steps in paths)
        pairs = ((path, zero if now is None else now, zero if was is None else was) for path, now, was in values)
        return [error(path, now) for path, now, before in pairs if now != before]

    return check


def immutable(*names: str) -> Change:
    """The check that fields do not change in an object that is marked as immutable, which it then stays."""
    detail = "field is immutable when `immutable` is set"
    check = fixed(*names, zero={}, detail=detail, forbidden=True)
    stays = (forbidden_field(".immutable", detail),)

    def check_marked(behaviour: ServedBehaviour, obj: Object, old: Object) -> Sequence[FieldError]:
        if not old.get("immutable"):
            return ()
        return [*(() if obj.get("immutable") else stays), *check(behaviour, obj, old)]

    return check_marked


def whole(*checks: Check, since: str = "") -> Change:
    """The check of a changed object like that of a new one."""
    check = table(*checks)
    return lambda behaviour, obj, _old: check(behaviour, obj) if not since or behaviour.applies(since) else ()


def changes(*checks: Change) -> Change:
    """All errors that some checks find in one change, in their order."""

    def check(behaviour: ServedBehaviour, obj: Object, old: Object) -> Sequence[FieldError]:
        return [error for each in checks for error in each(behaviour, obj, old)]

    return check
