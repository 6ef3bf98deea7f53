"""Evidence and fixes of findings about bindings, accounts and pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simkit.analysis.findings.check import Finding
from simkit.analysis.findings.survey import listed
from simkit.analysis.rbac.objects import NAMESPACES, SERVICE_ACCOUNTS, kind_of
from simkit.analysis.rbac.subject import normalize_subject
from simkit.logic.rbac.binding import SERVICE_ACCOUNT, Binding, Subject
from simkit.meta.names import Key
from simkit.meta.objects import Object
from simkit.present.escaping import kubectl_command

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
