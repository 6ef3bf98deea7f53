"""The rules in order, and the editions of the policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from simkit.logic.lifecycle import rules_elements, rules_versions
from simkit.logic.lifecycle.calendar import Calendar
from simkit.logic.lifecycle.document import History
from simkit.logic.lifecycle.findings import Edition, Finding
from simkit.meta.errors import SimkitError

EDITIONS: Final = {
    "A": Edition("A", stable_stays=False, is_present=False),
    "B": Edition("B", stable_stays=True, is_present=False),
    "C": Edition("C", stable_stays=True, is_present=True),
}
"""Editions of the policy: until January 2022, from then on, and the present one.

The present one also limits betas upwards and brought rules 5c and 8: what only it forbids is a notice under the others.
"""

Rule = Callable[[History, Calendar, Edition], Iterator[Finding]]

RULES: Final[tuple[Rule, ...]] = (
    rules_elements.nothing_goes_within_a_version,
    rules_elements.numbers_are_not_reused,
    rules_elements.round_trips,
    rules_versions.replacements_are_as_stable,
    rules_versions.stable_versions_stay,
    rules_versions.betas_are_deprecated_in_time,
    rules_versions.betas_are_served_long_enough,
    rules_versions.stored_versions_stay_readable,
    rules_versions.preferred_and_stored_versions_overlap,
    rules_elements.flags,
    rules_elements.behaviors,
    rules_elements.gates_work_long_enough,
    rules_elements.gates_have_the_right_states,
    rules_elements.deprecated_gates_are_told,
    rules_elements.metrics,
)
"""Rules 1 to 11b in the order of the policy."""


def check(history: History, *, edition: str = "C") -> list[Finding]:
    """The violations of a history, in the order of the rules; empty if it complies.

    Parameters
    ----------
    edition
        The edition of the policy: A, B or C. What was scheduled before 2022 is to be judged under A.

    Examples
    --------
    >>> from simkit.logic.lifecycle.reading import read_history
    >>> history = read_history('''
    ... groups:
    ... - name: shop.example.com
    ...   versions: [{name: v1beta1, introduced: "1.28", deprecated: "1.29", removed: "1.30"}]
    ... ''')
    >>> print(check(history)[0])  # doctest: +ELLIPSIS
    4a: shop.example.com/v1beta1: removed 1 release, 4.1 months after its deprecation in 1.29...from 1.32 (2024-12-11)
    """
    if edition not in EDITIONS:
        raise SimkitError(f"there is no edition {edition!r} of the policy; choose from {', '.join(EDITIONS)}")
    calendar = history.calendar
    return [finding for rule in RULES for finding in rule(history, calendar, EDITIONS[edition])]
