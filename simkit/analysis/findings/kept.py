"""The number of findings of a cluster, of which those are kept from an earlier one that a change cannot touch."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator
from typing import Final

from simkit.analysis.escalation.table.requirement import ANY_SUBRESOURCE, Requirement
from simkit.analysis.escalation.table.risky_permission import (
    RiskyPermission,
    requirements_of_grant,
    risky_permission_table,
)
from simkit.analysis.findings.audit import CHECKS, found_by
from simkit.analysis.findings.holders import BECOMING, HeldRisk, questions_of
from simkit.analysis.findings.survey import NAMESPACE_ROLES, OfObjects, OfRole, Survey
from simkit.analysis.rbac.default_objects import settled_defaults
from simkit.logic.rbac.binding import CLUSTER_ROLES, ROLES
from simkit.logic.rbac.cover import EVERYTHING, covers
from simkit.logic.rbac.index import is_access_resource
from simkit.logic.rbac.rule import Rule
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.names import Key

RISKY: Final = {one.id: one for one in risky_permission_table().every}

OF_DEFAULTS: Final = "default-drift"
"""The check that looks at the server's own roles and bindings alone."""


class CountedFindings:
    """The number of findings of each check.

    Parameters
    ----------
    earlier
        The count of a cluster that differs by some objects.
    changed
        The keys of these objects.

    Notes
    -----
    A check of a risky permission is made again if a changed role or binding grants one of the permissions that it asks
    for, before or after; or if it looks at the access of others. That of the server's own objects is made again if one
    of them changed. All other checks are made again, with what was known of objects and roles that are the same.
    """

    def __init__(self, survey: Survey, earlier: CountedFindings | None = None, changed: Collection[Key] = ()) -> None:
        self._survey = survey
        kept = {} if earlier is None else dict(earlier._kept(survey, changed))
        self.by_check = {
            check.id: kept[check.id] if check.id in kept else len(found_by(survey, check)) for check in CHECKS
        }

    def __len__(self) -> int:
        return sum(self.by_check.values())

    def _kept(self, now: Survey, changed: Collection[Key]) -> Iterator[tuple[str, int]]:
        """The counts of the checks that a change cannot touch."""
        if now.defaults != self._survey.defaults:
            return
        surveys = (self._survey, now)
        rules, every = _granting(surveys, changed), _granting(surveys, changed, administrators=True)
        if rules is None or every is None:
            return
        touched = set(_roles_touched(surveys, changed))
        objects = all(is_access_resource(key.resource) for key in changed)
        now.keep(
            self._survey,
            (
                name
                for name in self._survey.known()
                if (objects and _is_of_others(name, touched)) or _is_free_of(name, rules, every)
            ),
        )
        for name, permission in RISKY.items():
            if name in self.by_check and not _concerns(permission, rules, now.snapshot.release):
                now.keep(self._survey, {HeldRisk(name, administrators=False)} & self._survey.known())
                yield name, self.by_check[name]
        if not settled_defaults(now.snapshot.release).keys() & set(changed):
            yield OF_DEFAULTS, self.by_check[OF_DEFAULTS]


def _granting(
    surveys: Iterable[Survey], changed: Collection[Key], *, administrators: bool = False
) -> list[Rule] | None:
    """The rules that changed objects grant, before or after; None if that may not be told.

    Those of administrators are among them only if asked for.
    """
    found: list[Rule] = []
    for survey in surveys:
        for key in changed:
            if key.resource in (ROLES, CLUSTER_ROLES):
                rules = survey.rules(key)
                if covers(rules, EVERYTHING[:1]):
                    return None
                found += rules
        for binding in survey.index.bindings():
            wide = binding.role in survey.full_roles or (binding.namespace and binding.role in NAMESPACE_ROLES)
            if binding.key in changed and (administrators or not wide):
                found += survey.rules(binding.role)
    return found


def _roles_touched(surveys: Iterable[Survey], changed: Collection[Key]) -> Iterator[Key]:
    """The changed roles, and those of changed bindings, before or after."""
    yield from changed
    for survey in surveys:
        yield from (binding.role for binding in survey.index.bindings() if binding.key in changed)


def _is_of_others(name: Hashable, touched: Collection[Key]) -> bool:
    """True if a name is that of what was worked out of other objects than roles and bindings, or of another role."""
    return isinstance(name, OfObjects) or (isinstance(name, OfRole) and name.role not in touched)


def _is_free_of(name: Hashable, rules: Iterable[Rule], every: Iterable[Rule]) -> bool:
    """True if a name is that of a met requirement (see ``holders``) which no changed rule meets."""
    if not isinstance(name, tuple) or len(name) != 2 or not isinstance(name[0], Requirement):
        return False
    if any(one.permission.subresource == ANY_SUBRESOURCE for one in name[0].any_of):
        return False
    listed = list(every if name[1] else rules)
    return not any(question.allowed_by(rule) for question in questions_of(name[0]) for rule in listed)


def _concerns(permission: RiskyPermission, rules: Iterable[Rule], release: str) -> bool:
    """True if rules may change the findings about a permission."""
    listed = list(rules)
    for grant in permission.grants:
        if grant.variant is not None:
            return True  # it depends on all that the holder has, and on other objects
        for requirement in requirements_of_grant(grant, release):
            for one in requirement.any_of:
                named = one.permission
                if (named.verb, named.resource) in BECOMING or (grant.if_present and named.group == RBAC_GROUP):
                    return True
            if any(question.allowed_by(rule) for question in questions_of(requirement) for rule in listed):
                return True
    return False
