"""The result of a check, and its texts.

CheckResult and AggregateCheckResult in k8s.io/pod-security-admission/policy/checks.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from simkit.meta.objects import Object, at


class Violation(NamedTuple):
    """One violation by a pod: its name, and its place in the pod."""

    reason: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


Check = Callable[[Object, Object], Violation | None]
"""A function of a pod's metadata and spec."""


def forbidden_detail(violations: Iterable[Violation]) -> str:
    """All violations with their details, as one text."""
    return ", ".join(map(str, violations))


def forbidden_reason(violations: Iterable[Violation]) -> str:
    """All violations without details, as one text."""
    return ", ".join(violation.reason for violation in violations)


def security(container: Object, *path: str) -> Any:
    """A value in a container's security context; None if a part is missing."""
    return at(container, "securityContext", *path)


def quoted(names: Iterable[str]) -> str:
    """Names in quotation marks."""
    return ", ".join(f'"{name}"' for name in names)


def plural(count: int, word: str, more: str = "") -> str:
    """The singular or plural of a word for a number."""
    return word if count == 1 else more or f"{word}s"


def who(names: Sequence[str]) -> str:
    """The names of containers as messages list them."""
    return f"{plural(len(names), 'container')} {quoted(names)}"


def setters(pod: bool, names: Sequence[str]) -> str:
    """The text for the fields' owners: the pod, some containers, or both; empty if none."""
    return " and ".join([*(["pod"] if pod else []), *([who(names)] if names else [])])
