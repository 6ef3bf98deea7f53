"""Reports of audits and of upgrades, each as one HTML page that needs nothing else: no network, no fonts."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.rendering import counted
from simkit.cluster.report.page_data import data_block, graph_data, page_data, plain_block
from simkit.meta.distribution import VERSION
from simkit.meta.visible_text import one_line
from simkit.meta.whole_file import write_whole
from simkit.present.design import MARK, stylesheet
from simkit.present.escaping import terminal_text
from simkit.present.path_graph import graph_page_script, graph_styles

if TYPE_CHECKING:
    from jinja2 import Environment

    from simkit.analysis.upgrade.items import Break
    from simkit.analysis.upgrade.proof import UpgradeProof
    from simkit.analysis.upgrade.upgrade_report import UpgradeReport

LEVELS: Final = ("critical", "high", "medium", "low", "info")
NATURES: Final = {
    "mistake": "granted by the cluster's operators, and not needed by a known product",
    "unused": "granted to service accounts that no pod or workload uses",
    "administrators": "makes people or groups cluster administrators: confirm that this is intended",
    "product": "what an installed product needs for itself",
    "server": "kube-apiserver's own",
}

_WAYS_SHOWN: Final = 30
"""Ways of escalation that are shown at once; the others are folded."""


def page(content: Mapping[str, Any]) -> str:
    """The page of a report.

    Parameters
    ----------
    content
        What ``document`` gives back, perhaps with a comparison.
    """
    from markupsafe import Markup

    style, script = graph_styles() + part("report.css"), part("report.js")
    checks = {check["id"]: check for check in content["checks"]}
    findings = _by_check(content["findings"], list(checks))
    folded = _folded(content["causes"])
    return (
        environment()
        .get_template("report.html")
        .render(
            report=content,
            findings=findings,
            checks=checks,
            causes={cause["id"]: cause for cause in content["causes"]},
            most_paths=max((cause["paths"] for cause in content["causes"]), default=0),
            **folded,
            ways_shown=_WAYS_SHOWN,
            levels=LEVELS,
            natures=NATURES,
            mark=Markup(MARK),  # noqa: S704
            data=data_block("data", page_data(content, findings, checks, folded)),
            graph=plain_block("graph-data", graph_data(content)),
            graph_script=Markup(graph_page_script()),  # noqa: S704
            style=Markup(style),  # noqa: S704
            script=Markup(script),  # noqa: S704
            hashes=[b64encode(sha256(text.encode()).digest()).decode() for text in (script, graph_page_script())],
        )
    )


def _by_check(found: Iterable[Mapping[str, Any]], order: Sequence[str]) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """Findings by check, the checks with the worst findings first."""
    by_check: dict[str, list[Mapping[str, Any]]] = {}
    for each in found:
        by_check.setdefault(each["check"], []).append(each)
    worst = {name: min(LEVELS.index(one["severity"]) for one in some) for name, some in by_check.items()}
    return sorted(by_check.items(), key=lambda row: (worst[row[0]], order.index(row[0])))


def _folded(causes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The causes that are shown at once, the first ones of high severity and worse; the others by nature."""
    first = next((at for at, cause in enumerate(causes) if LEVELS.index(cause["severity"]) > 1), len(causes))
    folded: dict[str, list[Mapping[str, Any]]] = {}
    for cause in causes[first:]:
        folded.setdefault(cause["nature"], []).append(cause)
    return {
        "causes_shown": causes[:first],
        "causes_folded": [(nature, _severities(some), some) for nature, some in folded.items()],
    }


def _severities(causes: Sequence[Mapping[str, Any]]) -> str:
    found = sorted({LEVELS.index(cause["severity"]) for cause in causes})
    worst, least = LEVELS[found[0]], LEVELS[found[-1]]
    return worst if worst == least else f"{worst} to {least}"


def part(name: str) -> str:
    """A file beside the template."""
    return files("simkit.cluster.report").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def environment() -> Environment:
    """The environment of the templates: what is put in is escaped, and control characters are written out."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("simkit.cluster.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: one_line(value) if type(value) is str else value,  # markup of simkit's own stays
    )
    made.filters["block"] = _block
    made.filters["counted"] = _counted
    made.filters["plural"] = lambda word, number: word if number == 1 else f"{word}s"
    return made


def _block(text: str) -> Any:
    """Several lines, shown as they are."""
    from markupsafe import escape

    return escape(terminal_text(text))


def _counted(number: int, word: str, more: str = "") -> str:
    return f"{number:,} {more}" if more and number != 1 else counted(number, word)


def write_page(content: Mapping[str, Any], target: str | Path) -> Path:
    """Write the content of a report as an HTML page and return its path; folders on the way are made."""
    return write_whole(target, page(content))


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
            known=[row for row in found.rows if row.breaks is False],
            unread=[row for row in found.rows if row.breaks is None],
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
