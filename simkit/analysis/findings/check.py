"""Findings, and checks: the entries of the table that produces them; evidence and fixes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simkit.analysis.escalation.table.risky_permission import risky_permission_table
from simkit.analysis.escalation.table.severity import Severity
from simkit.analysis.findings.survey import listed
from simkit.analysis.rbac.objects import NAMESPACES, RBAC, SERVICE_ACCOUNTS, kind_of
from simkit.analysis.rbac.subject import normalize_subject
from simkit.analysis.rendering import html_lines
from simkit.logic.providers.access_entries import disassociation
from simkit.logic.rbac.binding import ACCESS_ENTRIES, SERVICE_ACCOUNT, Binding, Subject
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object
from simkit.present.escaping import kubectl_command

if TYPE_CHECKING:
    from simkit.analysis.findings.survey import Survey


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
    manifest: Object | None = None
    command: str = ""

    def _repr_html_(self) -> str:
        """The severity with the title, this case, what to do, and the command that does it."""
        return html_lines(filter(None, (f"{self.severity}: {self.title}", self.message, self.fix, self.command)))


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
    find: Callable[[Survey, Check], Iterable[Finding]] = field(repr=False)
    needs: tuple[GroupResource, ...] = RBAC

    @property
    def primitives(self) -> tuple[str, ...]:
        """The ids of the escalation primitives that the check concerns."""
        table = risky_permission_table()
        described = table.checks.get(self.id)
        known = {one.id: one.primitives for one in table.every}
        return known.get(self.id) or (described.primitives if described is not None else ())

    def finding(self, message: str, *, severity: Severity | None = None, **more: Any) -> Finding:
        """A finding of this check. Fields that are not given are the check's own."""
        level = self.severity if severity is None else severity
        return Finding(self.id, level, self.title, message, more.pop("fix", self.fix), **more)


def described_check(
    identifier: str, find: Callable[[Survey, Check], Iterable[Finding]], needs: tuple[GroupResource, ...] = RBAC
) -> Check:
    """The check whose words stand in ``datasets/escalation/risky_permissions.yaml`` under an id."""
    told = risky_permission_table().checks[identifier]
    return Check(identifier, told.title, told.severity, told.why, told.fix, find, needs)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A check that could not run, with the reason."""

    check: str
    title: str
    reason: str


Position = tuple[str, int | None]
"""A file, and a line in it."""


def binding_evidence(binding: Binding, *subjects: Subject) -> dict[str, Any]:
    """A binding as the evidence of a finding, with the given subjects or all of them."""
    return {
        "namespace": binding.namespace,
        "binding": binding.key,
        "role": binding.role,
        "subjects": subjects or tuple(map(normalize_subject, binding.subjects)),
    }


def position_of(finding: Finding, positions: Mapping[Key, Position]) -> Position | None:
    """The file and line of what a finding is about: its binding or role, else an account of it, else its namespace;
    None where none of them was read from a file.
    """
    keys = [key for key in (finding.binding, finding.role) if key is not None]
    accounts = (one for one in finding.subjects if one.kind == SERVICE_ACCOUNT)
    keys += [Key(SERVICE_ACCOUNTS, one.namespace, one.name) for one in accounts]
    keys += [Key(NAMESPACES, "", finding.namespace)] if finding.namespace else []
    return next(filter(None, map(positions.get, keys)), None)


def delete_command(key: Key) -> str:
    """The command line that deletes a role or binding."""
    if key.resource in ACCESS_ENTRIES:
        return disassociation(key)
    return kubectl_command("delete", kind_of(key).lower(), key.name, key.namespace)


def account_manifest(namespace: str, name: str) -> Object:
    """A service account manifest that mounts the token only in pods that ask for it."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": namespace},
        "automountServiceAccountToken": False,
    }


def pods_run(names: Sequence[str]) -> str:
    """The start of a sentence: the number of running pods, with the names of the first."""
    return f"1 pod ({names[0]}) runs" if len(names) == 1 else f"{len(names)} pods ({listed(names, 3)}) run"
