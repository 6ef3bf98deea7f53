"""What a finding is, and what a check is: an entry of the table that finds them."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from simkit.analysis.rbac.objects import RBAC
from simkit.logic.rbac.binding import Subject
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource, Key


class Severity(enum.IntEnum):
    """How bad it is. Levels compare: ``Severity.HIGH > Severity.LOW``."""

    INFO = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3
    CRITICAL = 4

    @property
    def word(self) -> str:
        return self.name.lower()

    @classmethod
    def named(cls, word: str) -> Severity:
        """The level of a word such as ``high``."""
        try:
            return cls[word.upper()]
        except KeyError:
            words = ", ".join(level.word for level in cls)
            raise SimkitError(f"there is no severity {word!r}; use one of {words}") from None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that an auditor should look at, with the objects that prove it.

    ``message`` tells this case in a sentence, ``fix`` what to do. ``manifest`` is an object to apply and ``command`` a
    command line to run where the repair is that simple. ``namespace`` is where it counts, empty for everywhere.
    """

    check: str
    severity: Severity
    title: str
    message: str
    fix: str
    namespace: str = ""
    binding: Key | None = None
    role: Key | None = None
    rules: tuple[int, ...] = ()
    subjects: tuple[Subject, ...] = ()
    manifest: Mapping[str, Any] | None = None
    command: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One question of the audit. ``severity`` is the worst that its findings have.

    ``find`` gives back the findings of a survey; it is asked only where the snapshot holds all that it ``needs``.
    """

    id: str
    title: str
    severity: Severity
    why: str
    fix: str
    find: Callable[[Any, Check], Iterable[Finding]] = field(repr=False)
    needs: tuple[GroupResource, ...] = RBAC

    def finding(self, message: str, *, severity: Severity | None = None, **more: Any) -> Finding:
        """A finding of this check; what is not given is the check's own."""
        level = self.severity if severity is None else severity
        return Finding(self.id, level, self.title, message, more.pop("fix", self.fix), **more)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A check that could not be asked, and why."""

    check: str
    title: str
    reason: str


LEVELS: Final = tuple(sorted(Severity, reverse=True))
"""The severities, worst first."""
