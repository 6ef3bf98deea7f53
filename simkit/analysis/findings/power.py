"""What a power is: rights that are dangerous to have, alone or together."""

from __future__ import annotations

from dataclasses import dataclass

from simkit.analysis.findings.check import Severity


@dataclass(frozen=True, slots=True)
class Right:
    """Any of some verbs on any of some resources (``pods``, ``pods/exec``) of one group.

    ``wide``: requests for it carry no namespace, so that a RoleBinding cannot give it. ``names``: the only objects for
    which it is worth a finding; empty: all. ``place``: the only namespace. ``nameless``: the requests name no object,
    so that a rule for single names does not give it.
    """

    verbs: tuple[str, ...]
    resources: tuple[str, ...]
    group: str = ""
    wide: bool = False
    names: tuple[str, ...] = ()
    place: str = ""

    @property
    def nameless(self) -> bool:
        return set(self.verbs) <= {"create"} and not any("/" in resource for resource in self.resources)

    def __str__(self) -> str:
        group = f" ({self.group})" if self.group else ""
        return f"{'/'.join(self.verbs)} {', '.join(self.resources)}{group}"


@dataclass(frozen=True, slots=True)
class Power:
    """A permission, or several together, and how bad it is to have it.

    ``ways``: any of them is enough, each needs all of its rights in the same place. ``cluster`` is the severity of
    having it everywhere, ``local`` of having it in one namespace, ``named`` of having it for single objects only;
    None: not worth a finding.
    """

    id: str
    title: str
    ways: tuple[tuple[Right, ...], ...]
    why: str
    fix: str
    cluster: Severity
    local: Severity | None = None
    named: Severity | None = None
