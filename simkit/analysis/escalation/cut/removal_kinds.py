"""Removals of a cut: a subject of a binding, permissions of a rule, or what a log does not show in use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from simkit.analysis.escalation.table.requirement import Permission
from simkit.analysis.rbac.objects import display_name
from simkit.analysis.rbac.subject import text_of
from simkit.logic.rbac.binding import GROUP, Subject
from simkit.meta.names import Key


class _HashedOnce:
    """A frozen dataclass whose hash is asked millions of times."""

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(vars(self).values()))

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "_hash"}  # another process hashes anew


@dataclass(frozen=True, order=True)
class RemoveSubject(_HashedOnce):
    """Take a subject out of a binding."""

    kind: ClassVar[str] = "remove subject"
    binding: Key
    subject: Subject

    __hash__ = _HashedOnce.__hash__

    @property
    def key(self) -> Key:
        """The object that is changed."""
        return self.binding

    def __str__(self) -> str:
        return f"remove {text_of(self.subject)} from {display_name(self.binding)}"


@dataclass(frozen=True, order=True)
class RemovePermissions(_HashedOnce):
    """Take permissions out of one rule of a role."""

    kind: ClassVar[str] = "remove permissions"
    role: Key
    rule: int
    permissions: tuple[Permission, ...]

    __hash__ = _HashedOnce.__hash__

    @property
    def key(self) -> Key:
        """The object that is changed."""
        return self.role

    def __str__(self) -> str:
        return f"remove {', '.join(map(str, self.permissions))} from rule {self.rule} of {display_name(self.role)}"


@dataclass(frozen=True, order=True)
class ReduceToUsage:
    """Bind a subject to what a log shows in use, instead of the role of a binding."""

    kind: ClassVar[str] = "reduce to usage"
    binding: Key
    subject: Subject

    @property
    def key(self) -> Key:
        """The object that is changed."""
        return self.binding

    def __str__(self) -> str:
        user = "its members have" if self.subject.kind == GROUP else "it has"
        return f"reduce {text_of(self.subject)} in {display_name(self.binding)} to what {user} used"


Removal = RemoveSubject | RemovePermissions | ReduceToUsage
