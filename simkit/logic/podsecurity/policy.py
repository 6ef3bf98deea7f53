"""The pod security policy of a namespace from its labels, and the result of a check, with its texts.

k8s.io/pod-security-admission/api/helpers.go, admission/admission.go and policy/checks.go, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple

from simkit.meta.domain import label
from simkit.meta.fielderror import FieldError, invalid_value
from simkit.meta.integers import saturating_int
from simkit.meta.objects import Object, at
from simkit.meta.podspec import containers_of

Level = Literal["privileged", "baseline", "restricted"]
LEVELS: Final[tuple[Level, ...]] = ("privileged", "baseline", "restricted")
"""The levels from the most to the least permissive."""
PREFIX: Final = label("", "pod-security")
"""The prefix of every label and audit annotation."""

_VERSION: Final = re.compile(r"v1\.(0|[1-9][0-9]*)")
_MODES: Final = ("enforce", "audit", "warn")


class LevelVersion(NamedTuple):
    """A level as one release defined it. ``minor`` is None for the latest definition."""

    level: Level = "privileged"
    minor: int | None = None

    def __str__(self) -> str:
        version = "latest" if self.minor is None else f"v1.{self.minor}"
        return f"{self.level}:{version}"

    def stricter_than(self, other: LevelVersion) -> bool:
        """True if the level alone is the stricter one."""
        return LEVELS.index(self.level) > LEVELS.index(other.level)


ANYTHING: Final = LevelVersion()
"""The policy that demands nothing."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The levels of a namespace for its pods: enforced, audited, and warned of."""

    enforce: LevelVersion = ANYTHING
    audit: LevelVersion = ANYTHING
    warn: LevelVersion = ANYTHING

    @property
    def privileged(self) -> bool:
        """True if the policy demands nothing."""
        return all(mode.level == "privileged" for mode in (self.enforce, self.audit, self.warn))


def policy_of(labels: Mapping[str, str], defaults: Policy | None = None) -> tuple[Policy, list[FieldError]]:
    """The policy of a namespace with these labels, and the errors in them.

    A wrong level means ``restricted`` where it is enforced and ``privileged`` elsewhere; a wrong version means the
    latest.

    Examples
    --------
    >>> policy, errors = policy_of({"pod-security.kubernetes.io/enforce": "baseline"})
    >>> str(policy.enforce), errors
    ('baseline:latest', [])
    """
    policy, errors = defaults or Policy(), list[FieldError]()
    for mode in _MODES:
        wanted: LevelVersion = getattr(policy, mode)
        level, version = labels.get(PREFIX + mode), labels.get(f"{PREFIX}{mode}-version")
        if level is None and version is None:
            continue
        if level is not None:
            wanted = wanted._replace(level=_level(mode, level, errors))
        if version is not None:
            wanted = wanted._replace(minor=_minor(mode, version, errors))
        policy = replace(policy, **{mode: wanted})
    return policy, errors


def _level(mode: str, text: str, errors: list[FieldError]) -> Level:
    for level in LEVELS:
        if level == text:
            return level
    errors.append(invalid_value(f"metadata.labels[{PREFIX}{mode}]", text, f"must be one of {', '.join(LEVELS)}"))
    return "restricted" if mode == "enforce" else "privileged"


def _minor(mode: str, text: str, errors: list[FieldError]) -> int | None:
    found = _VERSION.fullmatch(text)
    if found is not None:
        return saturating_int(found[1])
    if text != "latest":
        field = f"metadata.labels[{PREFIX}{mode}-version]"
        errors.append(invalid_value(field, text, 'must be "latest" or "v1.x"'))
    return None


def exempt_namespace_warning(name: str, policy: Policy, labels: Mapping[str, str]) -> str:
    """The warning for a namespace that is exempt although its labels set levels."""
    shown = ", ".join(
        f"{mode}={getattr(policy, mode)}"
        for mode in _MODES
        if getattr(policy, mode).level != "privileged"
        and (PREFIX + mode in labels or f"{PREFIX}{mode}-version" in labels)
    )
    return f'namespace "{name}" is exempt from Pod Security, and the policy ({shown}) will be ignored'


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


def offenders(spec: Object, values: Callable[[Object], Iterable[str]]) -> tuple[list[str], set[str]]:
    """The containers that have forbidden values, by name, and all of these values."""
    found = [(container["name"], set(values(container))) for container in containers_of(spec)]
    return [name for name, some in found if some], set().union(*(some for _, some in found))


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
