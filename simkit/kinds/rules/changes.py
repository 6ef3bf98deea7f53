"""Rules of whole objects: what a strategy validates, and what a change may not change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from simkit.kinds.rules.must import Show
from simkit.kinds.rules.row import Check, table
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value
from simkit.meta.objects import Object, at
from simkit.meta.wording import Text

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
