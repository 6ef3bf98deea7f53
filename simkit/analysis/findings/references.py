"""References of checks and escalation primitives to the CIS benchmark, the NSA/CISA guide and MITRE ATT&CK."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from simkit.meta import datasets
from simkit.meta.errors import SimkitError

if TYPE_CHECKING:
    from simkit.analysis.findings.audit import Audit
    from simkit.analysis.findings.check import Finding

FRAMEWORKS: Final = ("cis", "nsa", "mitre")


@dataclass(frozen=True, slots=True)
class Control:
    """A control of a framework, or a technique, with the ids of the checks and primitives that concern it.

    simkit does not check a control without checks.
    """

    id: str
    title: str
    checks: tuple[str, ...] = ()
    primitives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Framework:
    """A public framework in one version."""

    id: str
    title: str
    version: str
    source: str
    controls: tuple[Control, ...]

    @property
    def checks(self) -> frozenset[str]:
        """The ids of the checks that concern one of its controls."""
        return frozenset(name for control in self.controls for name in control.checks)

    @property
    def unchecked(self) -> tuple[Control, ...]:
        """The controls that simkit does not check."""
        return tuple(control for control in self.controls if not control.checks)

    def rows(self, audit: Audit) -> list[dict[str, Any]]:
        """One record per control: control, title, worst (severity), findings (None if not checked), checks, skipped."""
        skipped = {one.check for one in audit.skipped}
        found = {name: [one for one in audit.findings if one.check == name] for name in self.checks}
        return [
            _row(control, [one for name in control.checks for one in found[name]], skipped) for control in self.controls
        ]


def _row(control: Control, found: list[Finding], skipped: set[str]) -> dict[str, Any]:
    worst = max((one.severity for one in found), default=None)
    return {
        "control": control.id,
        "title": control.title,
        "worst": "" if worst is None else worst.word,
        "findings": len(found) if control.checks else None,
        "checks": list(control.checks),
        "skipped": [name for name in control.checks if name in skipped],
    }


@cache
def frameworks() -> Mapping[str, Framework]:
    """The frameworks by their ids, ``cis``, ``nsa`` and ``mitre``."""
    known: dict[str, Any] = datasets.load("escalation/references.yaml")
    return {
        name: Framework(name, told["title"], told["version"], told["source"], _controls(told))
        for name, told in known.items()
    }


def _controls(told: Mapping[str, Any]) -> tuple[Control, ...]:
    return tuple(
        Control(one["id"], one["title"], tuple(one.get("checks", ())), tuple(one.get("primitives", ())))
        for one in told["controls"]
    )


def framework_named(name: str) -> Framework:
    """A framework by its id. Raises SimkitError that lists them for others."""
    found = frameworks().get(name.lower())
    if found is None:
        raise SimkitError(f"no framework {name!r}; there are {', '.join(FRAMEWORKS)}")
    return found


@cache
def references(name: str) -> tuple[str, ...]:
    """The controls that a check or a primitive concerns, such as ``CIS 5.1.3``.

    Examples
    --------
    >>> references("wildcard"), references("F1")
    (('CIS 5.1.3', 'NSA RBAC'), ('CIS 5.1.11',))
    """
    return tuple(
        f"{framework.id.upper()} {control.id}"
        for framework in frameworks().values()
        for control in framework.controls
        if name in control.checks or name in control.primitives
    )
