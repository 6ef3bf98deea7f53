"""The table of changed behaviour, read from ``datasets/upgrade`` and checked."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from simkit.analysis.escalation.table.severity import Severity
from simkit.meta import datasets
from simkit.schema.behaviour import OWN
from simkit.schema.releases import release_name

if TYPE_CHECKING:
    from simkit.language.cel.environment import Program

TABLE: Final = "upgrade/behaviour.yaml"
VARIABLES: Final = ("value", "object", "kind", "pod", "file", "labels")
"""The variables of an expression: the value of the field, its object, the kind, the pod or pod template, the file, the
labels of the namespace (of an object without one those of kube-system)."""


class Detector(BaseModel):
    """One way in which a change shows. Exactly one of the first seven fields says what is looked for."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    field: tuple[str, ...] = ()
    """A path of fields; ``*`` is any item or key, ``name*`` any key that begins so."""
    pod: tuple[str, ...] = ()
    """A path within pods and pod templates, also those in custom resources."""
    name: str = ""
    """A label or taint, wherever an object names it: as a key, a value, or within a text."""
    volume: str = ""
    """A sort of volume, in pods and persistent volumes."""
    flag: str = ""
    """A flag of a component in a static pod or another manifest that runs it."""
    versions: tuple[str, ...] = ()
    """API versions that are no built-in ones."""
    gates: bool = False
    plugins: bool = False
    skew: Literal["", "kubelet", "kube-proxy", "kubectl"] = ""

    kinds: tuple[str, ...] = ()
    matches: re.Pattern[str] | None = None
    """What a text must have somewhere."""
    when: str = ""
    """An expression in CEL that must hold."""
    instead: str = ""
    """The name that makes it right where both are named."""
    provisioner: str = ""
    driver: str = ""
    """A CSI driver; where the cluster has it, the change does no harm."""
    component: tuple[str, ...] = ()
    severity: str = ""
    breaks: bool = True
    """False where it only tells of what was in use."""

    @model_validator(mode="after")
    def _one_way(self) -> Detector:
        ways = (self.field, self.pod, self.name, self.volume, self.flag, self.versions)
        if sum(map(bool, (*ways, self.gates, self.plugins, self.skew))) != 1:
            raise ValueError("a detector has exactly one thing to look for")
        return self


class Entry(BaseModel):
    """One change of behaviour."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")
    release: str
    """The first release that has the change; empty where tables of releases say it."""
    title: str
    severity: Literal["info", "low", "medium", "high", "critical"]
    effect: str
    remedy: str
    sources: tuple[str, ...] = Field(min_length=1)
    detectors: tuple[Detector, ...] = Field(min_length=1)
    breaks: bool = True
    unless: tuple[Detector, ...] = ()
    """Fields of configurations with which nothing breaks."""
    possible: str = ""
    """The first release in which the remedy works; empty: any."""
    fixed: str = ""
    """The patch of the release that is without the fault, if the change is one."""
    component: str = ""
    """Another project whose release decides, instead of that of Kubernetes."""

    @model_validator(mode="after")
    def _known(self) -> Entry:
        for release in filter(None, (self.release, self.possible)):
            release_name(release)
        for detector in self.detectors:
            Severity.named(detector.severity or self.severity)
        return self

    @property
    def source(self) -> str:
        """The sources as one text."""
        return ", ".join(self.sources)


@cache
def compiled(expression: str) -> Program:
    """The program of an expression over ``VARIABLES``; what it speaks of may be missing."""
    from simkit.language.cel.environment import Environment, own_version
    from simkit.language.cel.types import BOOL, DYN

    return Environment(OWN, dict.fromkeys(VARIABLES, DYN), version=own_version(OWN)).compile(
        expression, expected=(BOOL, DYN)
    )


@cache
def behaviour_entries() -> tuple[Entry, ...]:
    """All entries, in the order of the table.

    Examples
    --------
    >>> [each.release for each in behaviour_entries() if each.id == "node-role-master"]
    ['1.24']
    """
    table: dict[str, Any] = datasets.load(TABLE)
    sources: dict[str, str] = table["sources"]
    return tuple(Entry.model_validate({**row, "sources": _full(row["sources"], sources)}) for row in table["entries"])


def _full(written: list[str], sources: dict[str, str]) -> list[str]:
    """Addresses, with the words of the table's sources replaced."""
    found = []
    for each in written:
        word, _, rest = each.partition(":")
        found.append(f"{sources[word]}{rest}" if word in sources else each)
    return found
