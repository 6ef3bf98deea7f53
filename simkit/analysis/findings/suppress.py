"""Accepted findings: by a rule with a reason and a last day, or because an earlier baseline has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import orjson
from pydantic import BaseModel, ConfigDict, ValidationInfo, model_validator

from simkit.analysis.findings.audit import FINDINGS, Audit
from simkit.analysis.findings.check import Check, Finding
from simkit.analysis.model_file import Acceptance, model_of_file
from simkit.analysis.rbac.objects import display_name
from simkit.analysis.rbac.subject import text_of
from simkit.language.yaml.small_files import text_of_file
from simkit.meta.errors import SimkitError

IN_BASELINE: Final = "in the baseline"


class Suppression(Acceptance):
    """Accepted findings, with the reason and the last day of acceptance (inclusive).

    What is left out matches everything; texts may hold ``*``. ``binding`` and ``role`` are names, a namespaced one
    with its namespace before it: ``dev/readers``. ``subject`` matches where all subjects of the finding do.
    """

    check: str = "*"
    namespace: str = "*"
    binding: str = "*"
    role: str = "*"
    subject: str = "*"
    fingerprint: str = "*"

    def matches(self, finding: Finding) -> bool:
        """True if the rule selects the finding, whether the rule has expired or not."""
        return (
            fnmatchcase(finding.check, self.check)
            and fnmatchcase(finding.namespace, self.namespace)
            and _named(finding.binding, self.binding)
            and _named(finding.role, self.role)
            and self._of_subjects(finding)
            and fnmatchcase(fingerprint(finding), self.fingerprint)
        )

    def _of_subjects(self, finding: Finding) -> bool:
        if self.subject == "*":
            return True
        texts = [text_of(subject) for subject in finding.subjects]
        return bool(texts) and all(fnmatchcase(text, self.subject) for text in texts)


class Suppressions(BaseModel):
    """A file of suppressions."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    suppressions: tuple[Suppression, ...] = ()

    @model_validator(mode="after")
    def _of_known_checks(self, info: ValidationInfo) -> Suppressions:
        known = {*FINDINGS, *(check.id for check in (info.context or {}).get("rules") or ())}
        for each in self.suppressions:
            if not any(fnmatchcase(name, each.check) for name in known):
                raise ValueError(f"there is no check {each.check!r}")
        return self


@dataclass(frozen=True, slots=True)
class Accepted:
    """An accepted finding, which fails no run, with the reason."""

    finding: Finding
    reason: str
    expires: str = ""
    """The last day, empty for one without end."""


@dataclass(frozen=True, slots=True)
class SuppressedAudit:
    """An audit without the accepted findings, and the accepted findings beside it.

    ``expired`` are suppressions whose last day is over though what they meant is still there; ``unused`` are those
    that meant nothing in this audit and can go.
    """

    audit: Audit
    accepted: tuple[Accepted, ...]
    expired: tuple[Suppression, ...]
    unused: tuple[Suppression, ...]


def read_suppressions(path: str | Path, rules: Sequence[Check] = ()) -> Suppressions:
    """The suppressions in a YAML or JSON file. Raises SimkitError that names the entry and what is wrong with it.

    Parameters
    ----------
    rules
        Checks of one's own that suppressions may name besides.

    Examples
    --------
    A file such as::

        suppressions:
        - check: secrets-list
          subject: "sa:backup/*"
          reason: the backup reads everything, see ticket 812
          expires: 2027-03-31
    """
    return model_of_file(path, Suppressions, {"rules": rules}, empty={})


def read_baseline(path: str | Path) -> frozenset[str]:
    """The fingerprints in a baseline. Raises SimkitError for a file that is not a baseline."""
    file = Path(path)
    try:
        value = orjson.loads(text_of_file(file))
    except orjson.JSONDecodeError as error:
        raise SimkitError(f"{file} is not JSON: {error}") from None
    entries = value.get("findings") if isinstance(value, dict) else None
    if not isinstance(entries, list) or not all(isinstance(each, dict) and "fingerprint" in each for each in entries):
        raise SimkitError(f"{file} is no baseline; write one with --write-baseline")
    return frozenset(str(each["fingerprint"]) for each in entries)


def baseline(findings: Iterable[Finding]) -> dict[str, Any]:
    """The content of a baseline file: the fingerprints, with messages for readers."""
    rows = {fingerprint(each): {"check": each.check, "message": each.message} for each in findings}
    return {"findings": [{"fingerprint": mark, **rows[mark]} for mark in sorted(rows)]}


def fingerprint(finding: Finding) -> str:
    """A short hash of check, subjects, binding and role; it changes only with one of them.

    Wording, severity and the order of rules do not count.
    """
    objects = [display_name(key) if key is not None else "" for key in (finding.binding, finding.role)]
    nothing = not any(objects) and not finding.subjects
    parts = [finding.check, finding.namespace, *objects, *sorted(text_of(subject) for subject in finding.subjects)]
    if nothing:
        parts.append(finding.message)
    return sha256(orjson.dumps(parts)).hexdigest()[:16]


def apply_suppressions(
    found: Audit,
    suppressions: Sequence[Suppression] = (),
    known: frozenset[str] = frozenset(),
    *,
    today: date,
) -> SuppressedAudit:
    """The audit without suppressed findings and those of the baseline, and the findings that were left out.

    Notes
    -----
    O(findings x suppressions).
    """
    accepted: list[Accepted] = []
    left: list[Finding] = []
    used: set[int] = set()
    for finding in found.findings:
        meant = [place for place, each in enumerate(suppressions) if each.matches(finding)]
        used.update(meant)
        standing = [suppressions[place] for place in meant if not suppressions[place].expired(today)]
        reason = standing[0].reason if standing else IN_BASELINE if fingerprint(finding) in known else ""
        if reason:
            ends = standing[0].expires if standing else None
            accepted.append(Accepted(finding, reason, "" if ends is None else ends.isoformat()))
        else:
            left.append(finding)
    over = [each for place, each in enumerate(suppressions) if place in used and each.expired(today)]
    unused = [each for place, each in enumerate(suppressions) if place not in used]
    return SuppressedAudit(replace(found, findings=tuple(left)), tuple(accepted), tuple(over), tuple(unused))


def _named(key: Any, pattern: str) -> bool:
    if pattern == "*":
        return True
    if key is None:
        return False
    return fnmatchcase(f"{key.namespace}/{key.name}" if key.namespace else key.name, pattern)
