"""The limits of answers: the reasons for which one may be too small, or rests on an assumption."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from simkit.meta.names import GroupResource

NOT_HELD: Final = "PodSecurityPolicies are not evaluated, and are assumed to admit this"
"""The warning to a client whose pod was not held to the policies of releases up to 1.24."""
NO_CONSTRAINTS: Final = "SecurityContextConstraints were not captured, and are assumed to admit this"
"""The warning to a client whose pod was not held to the constraints of OpenShift."""
UNEVALUATED: Final = {
    NOT_HELD: "PodSecurityPolicies were not evaluated",
    NO_CONSTRAINTS: "SecurityContextConstraints are not in the dump, and were not evaluated",
}
"""What answers with such a warning did not look at, in words."""
_UNCALLED: Final = "this admission webhook was not called, and is assumed to admit the request: "

_UNCALLED_ALL: Final = "these admission webhooks were not called, and are assumed to admit the request: "


def uncalled_webhook(name: str) -> str:
    """The warning to a client whose write a webhook was not asked about."""
    return _UNCALLED + name


def name_of_uncalled(warning: str) -> str:
    """The name of the webhook of such a warning."""
    return warning.removeprefix(_UNCALLED)


def assumed_answers(warnings: Iterable[str]) -> str:
    """Those of the warnings of an answer that tell of webhooks, policies and constraints which were not asked."""
    told = list(warnings)
    hooks = [name_of_uncalled(warning) for warning in told if warning.startswith(_UNCALLED)]
    called = [uncalled_webhook(hooks[0])] if len(hooks) == 1 else [_UNCALLED_ALL + ", ".join(hooks)] if hooks else []
    return "; ".join([*(warning for warning in told if warning in UNEVALUATED), *called])


@dataclass(frozen=True, slots=True)
class Caveat:
    """One limit of an answer.

    Attributes
    ----------
    id
        A stable word for programs: ``always-allow``, ``outside-access``, ``unknown-access-policy``, ``denials``,
        ``unread-denials``, ``unknown-grants``, ``unknown-authorizers``, ``undecided-authorizer``,
        ``incomplete-rules``, ``not-captured`` or ``not-read``.
    text
        The sentences for people.
    """

    id: str
    text: str

    def __str__(self) -> str:
        return self.text


def not_captured(resources: Iterable[GroupResource]) -> Caveat:
    """The limit of an answer that would have looked at further resources."""
    names = ", ".join(sorted(resource.resource for resource in resources))
    return Caveat("not-captured", f"Incomplete: {names} were not captured, so that nothing is said about them.")


def not_read(count: int) -> Caveat:
    """The limit of an answer about a source of which parts could not be read."""
    parts = "1 part" if count == 1 else f"{count:,} parts"
    return Caveat("not-read", f"Incomplete: {parts} of the source could not be read, so that nothing is known of them.")
