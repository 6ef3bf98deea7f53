"""The reports of ``simkit audit``: HTML and JSON, beside an earlier one where that is wanted."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simkit.analysis.findings.references import framework_named
from simkit.analysis.rendering import counted
from simkit.cli.notes import note
from simkit.cli.output import json_text
from simkit.cli.source import paths_of, read_members
from simkit.meta import datasets
from simkit.meta.errors import IncompleteSnapshot, SimkitError
from simkit.meta.whole_file import write_whole

if TYPE_CHECKING:
    from simkit.analysis.causes import Causes
    from simkit.analysis.findings.suppress import SuppressedAudit
    from simkit.snapshot.dump import Dump


def earlier_report(args: argparse.Namespace) -> Mapping[str, Any] | None:
    """The report of ``--since``, read before anything else is done; None without it."""
    if args.since is not None:
        from simkit.cluster.report.comparison import read_report

        return read_report(args.since)
    if args.fail_on_new:
        raise SimkitError("--fail-on-new needs --since FILE")
    return None


def grown(changes: Mapping[str, Any], severity: str) -> bool:
    """True if there are new paths, or new or worse findings of a severity or a worse one."""
    from simkit.analysis.escalation.table.severity import Severity

    least = Severity.named(severity)
    found = (Severity.named(one["severity"]) for one in (*changes["new"], *changes["worse"]))
    return bool(changes["paths_new"]) or any(one >= least for one in found)


def write_audit_report(
    dump: Dump,
    sifted: SuppressedAudit,
    name: str,
    args: argparse.Namespace,
    earlier: Mapping[str, Any] | None,
    causes: Causes | None,
) -> Mapping[str, Any] | None:
    """Write the reports that were asked for; what changed since an earlier one is told and given back."""
    from simkit.cluster.report.comparison import compared
    from simkit.cluster.report.document import Request, document
    from simkit.cluster.report.page import write_page

    request = Request(
        name,
        include_defaults=args.include_defaults,
        members=read_members(args),
        managed=args.managed,
        audit_log=args.audit_log,
        causes=causes,
        prove=args.prove,
        limits=tuple(_limits(args)),
        sources=[datasets.path(datasets.DEMO)] if args.demo else paths_of(args),
    )
    try:
        content = document(dump, sifted, request, tell=_progress)
    except IncompleteSnapshot as lack:
        hint = f"or take them as empty: --complete {','.join(map(str, lack.missing))}"
        raise SimkitError(f"no report was written, since its paths and causes need more: {lack}; {hint}") from None
    if earlier is not None:
        content["comparison"] = compared(content, earlier, args.audit_log)
        _tell(content["comparison"])
    if args.json is not None:
        write_whole(args.json, json_text(content))
        print(f"The report is in {args.json}", file=sys.stderr)
    if args.html is not None:
        write_page(content, args.html)
        print(f"The report is in {Path(args.html)}: open it in a browser", file=sys.stderr)
    changes: Mapping[str, Any] | None = content.get("comparison")
    return changes


def _limits(args: argparse.Namespace) -> Iterator[str]:
    """What the options leave out of the findings, in sentences."""
    if args.severity:
        yield f"Lists only findings of severity {args.severity} or worse."
    if args.namespace:
        yield f"Lists only findings about namespace {args.namespace}."
    if args.framework:
        yield f"Lists only findings that concern the {framework_named(args.framework).title}."
    if args.check:
        yield f"Made only the checks {', '.join(args.check)}."


def _progress(words: str) -> None:
    if sys.stderr.isatty():
        note(f"{words} ...")


def _tell(changes: Mapping[str, Any]) -> None:
    """Write the new, worse and removed findings since the earlier report, in a few lines."""
    counts = {name: len(changes[name]) for name in ("new", "worse", "gone", "paths_new", "paths_gone")}
    note(
        f"since {changes['since'][:16]}: {counted(counts['new'], 'new finding')}, {counts['worse']} worse, "
        f"{counts['gone']} gone; {counted(counts['paths_new'], 'new path')}, {counts['paths_gone']} gone"
    )
    for what in ("new", "worse"):
        for one in changes[what]:
            by = f" (written by {'; '.join(one['by'])})" if one["by"] else ""
            note(f"{what}: {one['severity']} {one['message']}{by}")
