"""Reports written: an audit as one HTML page, and the same as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simkit.cluster.report.document import Request, document
from simkit.cluster.report.page import page
from simkit.cluster.report.pictures import curve
from simkit.meta.whole_file import write_whole

if TYPE_CHECKING:
    from simkit.analysis.findings.suppress import SuppressedAudit
    from simkit.snapshot.dump import Dump


def write_report(dump: Dump, target: str | Path, *, name: str = "", sifted: SuppressedAudit | None = None) -> Path:
    """Write the audit of a dump as an HTML page and return its path; folders on the way are made.

    Parameters
    ----------
    name
        What the report is about, for its head.
    sifted
        The audit, with what somebody accepts of it; left out: an audit of everything.
    """
    content = document(dump, sifted or _everything(dump), Request(name or "cluster"))
    return write_page(content, target)


def write_page(content: Mapping[str, Any], target: str | Path) -> Path:
    """Write the content of a report as an HTML page and return its path; folders on the way are made."""
    return write_whole(target, page(content, {"plan": curve(content["plan"])}))


def _everything(dump: Dump) -> SuppressedAudit:
    from simkit.analysis.findings.audit import audit
    from simkit.analysis.findings.suppress import SuppressedAudit

    return SuppressedAudit(audit(dump.snapshot()), (), (), ())
