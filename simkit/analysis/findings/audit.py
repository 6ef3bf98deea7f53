"""All checks over a snapshot: the findings, what was skipped, and what was left out."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, overload

from simkit.analysis.caveats import about_access
from simkit.analysis.escalation.table.severity import LEVELS, Severity
from simkit.analysis.findings.check import Check, Finding, Skipped
from simkit.analysis.findings.holders import risky_permission_checks
from simkit.analysis.findings.loose import LOOSE_CHECKS, STALE
from simkit.analysis.findings.nature import PRODUCT, Natures
from simkit.analysis.findings.openshift import OPENSHIFT_CHECKS
from simkit.analysis.findings.references import framework_named, references
from simkit.analysis.findings.survey import Survey, survey_of
from simkit.analysis.findings.wide import WIDE_CHECKS
from simkit.analysis.findings.workloads import WORKLOAD_CHECKS
from simkit.analysis.rbac.default_objects import administrators, skipped_line
from simkit.analysis.rbac.index import members_in
from simkit.analysis.rbac.objects import RBAC, display_name, require_captured
from simkit.analysis.rbac.subject import Members, text_of
from simkit.analysis.rbac.tables import records, table
from simkit.analysis.rbac.unknown_names import warn_of_unknown_namespace
from simkit.analysis.result import Result
from simkit.meta.errors import IncompleteSnapshot, SimkitError
from simkit.meta.foreign import passes, shown
from simkit.meta.names import Key
from simkit.meta.python_gc import collection_paused
from simkit.meta.visible_text import html_text
from simkit.present.colours import SEVERITIES
from simkit.present.progress import tracked
from simkit.seams.parts import PartRegistry
from simkit.seams.snapshot import Snapshot

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

LAST_ADMINISTRATORS: Final = "Confirm first that other administrators remain."
Each = Literal["finding", "subject"]

CHECKS: Final[tuple[Check, ...]] = (
    *WIDE_CHECKS,
    *OPENSHIFT_CHECKS,
    *risky_permission_checks(),
    *WORKLOAD_CHECKS,
    *LOOSE_CHECKS,
)
"""Every check of simkit, in the order of a report."""

FINDINGS: Final = PartRegistry[Check]("simkit.findings", {check.id: check for check in CHECKS})
"""The checks by id, with those that installed packages register under their ids."""
_LOG: Final = logging.getLogger("simkit.analysis")

COLUMNS: Final = (
    *("severity", "check", "namespace", "subjects", "binding", "role", "rules"),
    *("message", "fix", "command", "references"),
)
CONTROLS: Final = ("control", "title", "worst", "findings", "checks", "skipped")
SUMMARY_COLUMNS: Final = ("check", "title", "severity", "findings", "severities", "why", "fix")


_TILE: Final = (
    "color:#fff;display:inline-block;min-width:5.5em;margin:0 .5em .5em 0;padding:.5em .9em;border-radius:6px;"
    "background:"
)


@dataclass(frozen=True)
class Audit(Result):
    """The findings of an audit, worst first, and the checks that were skipped.

    ``set_aside`` is the number of the server's own roles and bindings that are as it made them, and of those of the
    provider of a managed cluster.
    """

    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...]
    set_aside: int
    checks: tuple[Check, ...] = CHECKS
    """The checks that were available."""

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    @overload
    def __getitem__(self, number: int) -> Finding: ...

    @overload
    def __getitem__(self, number: slice) -> Audit: ...

    def __getitem__(self, number: int | slice) -> Finding | Audit:
        """One finding, or an audit of some of them."""
        if isinstance(number, slice):
            return replace(self, findings=self.findings[number])
        return self.findings[number]

    def filter(
        self,
        *,
        severity: Severity | str | None = None,
        namespace: str | None = None,
        check: str | None = None,
        framework: str | None = None,
    ) -> Audit:
        """The audit with some of the findings only.

        Parameters
        ----------
        severity
            This severity or a worse one.
        namespace
            Findings that count in this namespace. Those that count everywhere are left out.
        check
            Findings of this check.
        framework
            Findings that a control of a framework is about: ``cis``, ``nsa`` or ``mitre``.

        Returns
        -------
        Audit
            The same skipped checks, and fewer findings.
        """
        level = Severity.named(severity) if isinstance(severity, str) else severity
        kept = (one for one in self.findings if level is None or one.severity >= level)
        kept = (one for one in kept if namespace is None or one.namespace == namespace)
        known = None if framework is None else framework_named(framework).checks
        kept = (one for one in kept if known is None or one.check in known)
        return replace(self, findings=tuple(one for one in kept if check is None or one.check == check))

    def to_frame(self, *, each: Each = "finding") -> pd.DataFrame:
        """One row per finding: severity, check, namespace, subjects, binding, role, rules, message, fix, command,
        references (controls of the CIS benchmark and others).

        With ``each="subject"`` one row per finding and subject, with the column subject instead of subjects, for joins.
        A finding without subjects has one row, whose subject is empty.
        """
        rows = table(map(_row, self.findings), COLUMNS)
        if each == "finding":
            return rows
        if each != "subject":
            raise SimkitError(f"there is a row for each finding, or for each subject, and none for each {each!r}")
        return (
            rows.explode("subjects", ignore_index=True).rename(columns={"subjects": "subject"}).fillna({"subject": ""})
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """The findings as bars by check and severity, in a figure of its own unless axes are given."""
        from simkit.analysis.plots.charts import findings_by_severity

        return findings_by_severity(self.to_frame(), ax=ax)

    def summary(self) -> pd.DataFrame:
        """One row per check that found something: check, title, severity (the worst), findings, severities (findings
        of each), why, fix.
        """
        return table(self._by_check(), SUMMARY_COLUMNS)

    def to_records(self) -> list[dict[str, object]]:
        """The rows of ``to_frame`` as mappings from column to value, made without pandas."""
        return records(map(_row, self.findings), COLUMNS)

    def summary_records(self) -> list[dict[str, object]]:
        """The rows of ``summary`` as mappings from column to value, made without pandas."""
        return records(self._by_check(), SUMMARY_COLUMNS)

    def _by_check(self) -> Iterator[tuple[Any, ...]]:
        counts: dict[str, Counter[Severity]] = {}
        for finding in self.findings:
            counts.setdefault(finding.check, Counter())[finding.severity] += 1
        known = {check.id: check for check in self.checks}
        for name in sorted(counts, key=lambda name: max(counts[name]), reverse=True):
            severities = {level.word: counts[name][level] for level in LEVELS if counts[name][level]}
            worst, told = next(iter(severities)), known[name]
            yield name, told.title, worst, counts[name].total(), severities, told.why, told.fix

    def controls(self, framework: str) -> pd.DataFrame:
        """One row per control of a framework: control, title, worst (severity), findings, checks, skipped (checks).

        A control that simkit does not check has no checks, and None for the number of findings.
        """
        return table((tuple(row.values()) for row in framework_named(framework).rows(self)), CONTROLS)

    def counts(self) -> Mapping[str, int]:
        """The number of findings of each severity, worst first."""
        counted = Counter(finding.severity for finding in self.findings)
        return {level.word: counted[level] for level in LEVELS}

    def __repr__(self) -> str:
        told = ", ".join(f"{number} {word}" for word, number in self.counts().items() if number) or "no findings"
        skipped = f"; {len(self.skipped)} checks skipped" if self.skipped else ""
        return f"<Audit: {told}{skipped}. {skipped_line(self.set_aside)}>"

    def _repr_html_(self) -> str:
        tiles = "".join(
            f'<div style="{_TILE}{SEVERITIES[word]}"><b style="font-size:1.6em">{number}</b><br>{word}</div>'
            for word, number in self.counts().items()
        )
        aside = f"<p>{skipped_line(self.set_aside)}</p>"
        skipped = "".join(f"<li>{html_text(one.title)}: {html_text(one.reason)}</li>" for one in self.skipped)
        checks = _shown(self.summary()) if self.findings else ""
        return f"<div>{tiles}</div>{aside}{f'<p>Not looked at:</p><ul>{skipped}</ul>' if skipped else ''}{checks}"

    def _page(self) -> str:
        """The short answer, and all findings."""
        return self._repr_html_() + _shown(self.to_frame())


def _shown(rows: pd.DataFrame) -> str:
    from simkit.analysis.readable_frame import ReadableFrame

    return ReadableFrame(rows)._repr_html_()


@about_access()
def audit(
    snapshot: Snapshot,
    *,
    include_defaults: bool = False,
    checks: Iterable[str] | None = None,
    members: Members | None = None,
    managed: Iterable[str] = (),
    rules: Iterable[Check] = (),
    severity: Severity | str | None = None,
    namespace: str | None = None,
    framework: str | None = None,
) -> Audit:
    """Findings about the access control in a snapshot, for an auditor to look at.

    Parameters
    ----------
    include_defaults
        Whether to look at the server's own roles and bindings too, where they are as it made them.
    checks
        The ids of the checks to make; left out: all of simkit, and ``rules``. A check that an installed package
        registers as an entry point in ``simkit.findings`` is made if it is named here. ``stale`` stands for the checks
        for leftovers: unused roles, empty bindings, subjects that do not exist and others.
    members
        Groups that the cluster does not keep, as for ``who_can``.
    managed
        Providers of managed clusters (eks, gke, aks, openshift, or auto) whose own bindings are left out.
    rules
        Your own checks: ``Check`` objects, such as those that ``read_rules`` reads.
    severity
        Only findings of this severity or a worse one (``high``).
    namespace
        Only findings that count in this namespace; left out: all. A namespace that does not exist gets a warning.
    framework
        Only findings that a control of a framework is about: ``cis`` (CIS Kubernetes Benchmark), ``nsa`` (NSA/CISA
        Kubernetes Hardening Guide) or ``mitre`` (ATT&CK). ``.controls(framework)`` has a row for each control.

    Returns
    -------
    Audit
        ``.to_frame()`` has one row per finding, ``.summary()`` one per check, ``.skipped`` the checks that could
        not be made, each with the reason; ``len`` is the number of findings. A check that fails is a finding itself,
        with the error as its message.

    Raises
    ------
    IncompleteSnapshot
        Where roles or bindings were not captured. Checks that need something else are listed as skipped.

    Notes
    -----
    O(checks x distinct rule lists + findings).

    Examples
    --------
    >>> from simkit.analysis import audit
    >>> from simkit.snapshot.memory import MemorySnapshot
    >>> audit(MemorySnapshot([], captured=["*"])).counts()["critical"]
    0
    """
    members = members_in(snapshot, members)
    require_captured(snapshot, RBAC)
    warn_of_unknown_namespace(snapshot, namespace)
    own = tuple(rules)
    with collection_paused():
        survey = survey_of(snapshot, members, include_defaults=include_defaults, managed=managed)
        chosen = _chosen(checks, own)
        findings, skipped = _found_by_all(survey) if chosen == CHECKS else _found(survey, chosen)
        natures = Natures(survey)
        findings = [_with_owner(one, natures) for one in findings]
        findings = list(_sparing_administrators(findings, snapshot))
    ordered = sorted(findings, key=lambda finding: finding.severity, reverse=True)
    known = tuple(dict.fromkeys((*CHECKS, *own, *chosen)))
    made = Audit(tuple(ordered), tuple(skipped), len(survey.defaults | survey.managed), known)
    return made.filter(severity=severity, namespace=namespace, framework=framework)


def _found(survey: Survey, checks: Iterable[Check]) -> tuple[list[Finding], list[Skipped]]:
    """The findings of the checks, and the checks that need resources which were not captured."""
    findings: list[Finding] = []
    skipped: list[Skipped] = []
    for check in tracked(checks, "checks"):
        try:
            require_captured(survey.snapshot, check.needs)
            findings += _judged(check.find(survey, check))
        except IncompleteSnapshot as missing:
            skipped.append(Skipped(check.id, check.title, str(missing)))
        except SimkitError:
            raise
        except BaseException as error:  # of a check of anybody; without a row for it, nothing would seem to be found
            if passes(error):
                raise
            _LOG.exception("the check %s failed", check.id)
            findings.append(_failed(check, error))
    return findings, skipped


def _judged(given: Any) -> list[Finding]:
    """What a check gives. Raises TypeError for what are no findings."""
    found = list(given) if isinstance(given, Iterable) else [given]
    for each in found:
        if not isinstance(each, Finding):
            raise TypeError(f"it gave {shown(each)} for a Finding")
    return found


def _failed(check: Check, error: BaseException) -> Finding:
    """The finding that stands for those of a check that failed."""
    message = f"The check failed, so its findings are unknown: {type(error).__name__}: {error}"
    return check.finding(message, fix="Fix the check, or report the error to the package that it is from.")


def _found_by_all(survey: Survey) -> tuple[list[Finding], list[Skipped]]:
    """What all checks of simkit find, worked out once: a plan counts what an audit has found."""
    return survey.once("findings", lambda: _found(survey, CHECKS))


def count_findings(survey: Survey) -> int:
    """The number of findings of an audit with all checks of simkit."""
    return len(_found_by_all(survey)[0])


def _sparing_administrators(found: Iterable[Finding], snapshot: Snapshot) -> Iterator[Finding]:
    """The findings without commands that would, all together, delete the last binding of an administrator who stays."""
    left = {subject: set(bindings) for subject, bindings in administrators(snapshot).items()}
    for finding in found:
        bound = [bindings for bindings in left.values() if finding.binding in bindings] if finding.command else []
        if any(len(bindings) == 1 for bindings in bound):
            yield replace(finding, command="", fix=f"{finding.fix} {LAST_ADMINISTRATORS}")
            continue
        for bindings in bound:
            bindings.discard(finding.binding)
        yield finding


def _with_owner(finding: Finding, natures: Natures) -> Finding:
    """The finding, which does not advise to delete what a product needs without saying so."""
    if not (finding.binding and finding.command):
        return finding
    nature = natures.of(finding.binding)
    if nature.name == PRODUCT:
        told = f"{nature.product} needs this binding; deleting it breaks {nature.product}."
        return replace(finding, fix=f"{told} {finding.fix}", command="")
    if nature.product:
        told = f"The binding is part of {nature.product}, which needs it when one of its workloads runs again."
        return replace(finding, fix=f"{told} {finding.fix}")
    return finding


@about_access()
def findings(
    snapshot: Snapshot,
    *,
    include_defaults: bool = False,
    checks: Iterable[str] | None = None,
    members: Members | None = None,
    managed: Iterable[str] = (),
    rules: Iterable[Check] = (),
    severity: Severity | str | None = None,
    namespace: str | None = None,
    framework: str | None = None,
    each: Each = "finding",
) -> pd.DataFrame:
    """Findings about the access control in a snapshot as a table: ``audit(...).to_frame()``.

    ``audit`` also tells which checks were skipped, and why.

    Parameters
    ----------
    include_defaults, checks, members, managed, rules, severity, namespace, framework
        As for ``audit``.
    each
        ``subject``: a row for each finding and subject, so that the table joins on the column subject.

    Returns
    -------
    DataFrame
        One row per finding, worst first: severity, check, namespace, subjects (a tuple), binding, role, rules, message,
        fix, command. With ``each="subject"`` the column subject in place of subjects, empty for a finding about no one.

    Raises
    ------
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Examples
    --------
    >>> from simkit.analysis import findings
    >>> from simkit.snapshot.memory import MemorySnapshot
    >>> len(findings(MemorySnapshot([], captured=["*"])))
    0
    """
    return audit(
        snapshot,
        include_defaults=include_defaults,
        checks=checks,
        members=members,
        managed=managed,
        rules=rules,
        severity=severity,
        namespace=namespace,
        framework=framework,
    ).to_frame(each=each)


def _chosen(ids: Iterable[str] | None, own: tuple[Check, ...]) -> tuple[Check, ...]:
    if ids is None:
        return tuple({check.id: check for check in (*CHECKS, *own)}.values())
    named = [ids] if isinstance(ids, str) else ids
    wanted = [one for name in named for one in (STALE if name == "stale" else (name,))]
    rules = {check.id: check for check in own}
    for name in wanted:
        if name not in rules and name not in FINDINGS:
            raise SimkitError(f"there is no check {name!r}; known: {', '.join(dict.fromkeys((*FINDINGS, *rules)))}")
    chosen = {name: rules[name] if name in rules else FINDINGS[name] for name in wanted}
    for name, check in chosen.items():
        FINDINGS.check_name(name, check.id)
    return tuple(chosen.values())


def _row(finding: Finding) -> tuple[Any, ...]:
    return (
        *(finding.severity.word, finding.check, finding.namespace, tuple(map(text_of, finding.subjects))),
        *(_written(finding.binding), _written(finding.role), finding.rules),
        *(finding.message, finding.fix, finding.command, references(finding.check)),
    )


def _written(key: Key | None) -> str:
    return "" if key is None else display_name(key)
