"""Removals of a cut: a subject of a binding, permissions of a rule, or what a log does not show in use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from simkit.analysis.escalation.table.requirement import Permission
from simkit.analysis.rbac.objects import display_name
from simkit.analysis.rbac.subject import text_of
from simkit.logic.rbac.binding import GROUP, Subject
from simkit.meta.names import Key


@dataclass(frozen=True, order=True)
class RemoveSubject:
    """Take a subject out of a binding."""

    kind: ClassVar[str] = "remove subject"
    binding: Key
    subject: Subject

    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.binding, self.subject)))

    def __hash__(self) -> int:
        return self._hash  # asked millions of times

    def __reduce__(self) -> tuple[type[RemoveSubject], tuple[object, ...]]:
        return RemoveSubject, (self.binding, self.subject)  # another process has other hashes

    def __str__(self) -> str:
        return f"remove {text_of(self.subject)} from {display_name(self.binding)}"


@dataclass(frozen=True, order=True)
class RemovePermissions:
    """Take permissions out of one rule of a role."""

    kind: ClassVar[str] = "remove permissions"
    role: Key
    rule: int
    permissions: tuple[Permission, ...]

    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.role, self.rule, self.permissions)))

    def __hash__(self) -> int:
        return self._hash  # asked millions of times

    def __reduce__(self) -> tuple[type[RemovePermissions], tuple[object, ...]]:
        return RemovePermissions, (self.role, self.rule, self.permissions)  # another process has other hashes

    def __str__(self) -> str:
        return f"remove {', '.join(map(str, self.permissions))} from rule {self.rule} of {display_name(self.role)}"


@dataclass(frozen=True, order=True)
class ReduceToUsage:
    """Bind a subject to what a log shows in use, instead of the role of a binding."""

    kind: ClassVar[str] = "reduce to usage"
    binding: Key
    subject: Subject

    def __str__(self) -> str:
        user = "its members have" if self.subject.kind == GROUP else "it has"
        return f"reduce {text_of(self.subject)} in {display_name(self.binding)} to what {user} used"


Removal = RemoveSubject | RemovePermissions | ReduceToUsage
