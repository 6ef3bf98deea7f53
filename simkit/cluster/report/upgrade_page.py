"""The readiness for an upgrade as one HTML page: what breaks, the plan, the proof."""

from __future__ import annotations

import io
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simkit.cluster.report.page import environment, part
from simkit.meta.distribution import VERSION
from simkit.meta.whole_file import write_whole
from simkit.present.design import MARK, stylesheet

if TYPE_CHECKING:
    from simkit.analysis.upgrade.items import Break
    from simkit.analysis.upgrade.proof import UpgradeProof
    from simkit.analysis.upgrade.upgrade_report import UpgradeReport

_NOT_READ = "not-read"


def write_upgrade_page(
    found: UpgradeReport, target: str | Path, *, name: str = "cluster", proof: UpgradeProof | None = None
) -> Path:
    """Write an upgrade report as an HTML page and return its path; folders on the way are made."""
    return write_whole(target, upgrade_page(found, name=name, proof=proof))


def upgrade_page(found: UpgradeReport, *, name: str = "cluster", proof: UpgradeProof | None = None) -> str:
    """The page of an upgrade report, which needs nothing beside itself: no network, no fonts, no libraries."""
    from markupsafe import Markup

    plan = found.plan()
    return (
        environment()
        .get_template("upgrade.html")
        .render(
            simkit=VERSION,
            name=name,
            start=found.span.start,
            to=found.span.end,
            breaks=[row for row in found.rows if row.breaks],
            groups=_groups([row for row in found.rows if row.breaks]),
            known=[row for row in found.rows if not row.breaks],
            unread=sum(row.check == _NOT_READ for row in found.rows),
            callers_known=found.callers_known,
            hops=plan.summary().to_dict("records"),
            steps=plan.steps,
            proof=proof.rows if proof is not None else (),
            pictures=_pictures(found),
            mark=Markup(MARK),  # noqa: S704
            style=Markup(stylesheet() + part("report.css")),  # noqa: S704
        )
    )


def _groups(rows: list[Break]) -> list[dict[str, Any]]:
    """Equal changes as one group, in the order of the report."""
    groups: dict[tuple[str, str], list[Break]] = {}
    for row in rows:
        groups.setdefault((row.release, row.what), []).append(row)
    return [
        {
            "release": release,
            "title": what.partition(". ")[0],
            "what": what,
            "severity": own[0].severity,
            "remedy": own[0].remedy,
            "source": own[0].source,
            "rows": own,
        }
        for (release, what), own in groups.items()
    ]


def _pictures(found: UpgradeReport) -> dict[str, str]:
    """The versions that are concerned as pictures in base64, for light and dark paper; none where no version is."""
    from simkit.analysis.plots import theme

    if not found.versions():
        return {}
    made = {}
    for dark in (False, True):
        stream = io.BytesIO()
        with theme("dark" if dark else "light"):
            figure = found.plot().get_figure(root=True)
            assert figure is not None, "a plot is in a figure"
            figure.savefig(stream, format="png", dpi=110, bbox_inches="tight")
        made["dark" if dark else "light"] = b64encode(stream.getvalue()).decode()
    return made
