"""A report as one HTML page that needs nothing else: no network, no fonts, no libraries."""

from __future__ import annotations

from base64 import b64encode
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from simkit.meta.visible_text import one_line
from simkit.present.design import stylesheet
from simkit.present.escaping import terminal_text

if TYPE_CHECKING:
    from jinja2 import Environment

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


def page(content: Mapping[str, Any], pictures: Mapping[str, str] | None = None) -> str:
    """The page of a report.

    Parameters
    ----------
    content
        What ``document`` gives back, perhaps with a comparison.
    pictures
        SVG elements by name, made by simkit itself.
    """
    from markupsafe import Markup

    style, script = stylesheet() + part("report.css"), part("report.js")
    findings: dict[str, list[Mapping[str, Any]]] = {}
    for each in content["findings"]:
        findings.setdefault(each["check"], []).append(each)
    order = {check["id"]: place for place, check in enumerate(content["checks"])}
    checks = sorted(
        findings, key=lambda name: (min(LEVELS.index(one["severity"]) for one in findings[name]), order[name])
    )
    return (
        environment()
        .get_template("report.html")
        .render(
            report=content,
            findings=[(name, findings[name]) for name in checks],
            checks={check["id"]: check for check in content["checks"]},
            causes={cause["id"]: cause for cause in content["causes"]},
            **_links(content),
            **_folded(content["causes"]),
            ways_shown=_WAYS_SHOWN,
            levels=LEVELS,
            natures=NATURES,
            pictures={name: Markup(text) for name, text in (pictures or {}).items()},  # noqa: S704
            style=Markup(style),  # noqa: S704
            script=Markup(script),  # noqa: S704
            script_hash=b64encode(sha256(script.encode()).digest()).decode(),
        )
    )


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


def _links(content: Mapping[str, Any]) -> dict[str, Any]:
    """The links from causes to their ways and findings, and from findings to a way that was proven."""
    titles = {finding["id"]: finding["title"] for finding in (*content["findings"], *content["accepted"])}
    ways: dict[str, list[Mapping[str, Any]]] = {}
    for group in content["path_groups"]:
        ways.setdefault(group["cause"], []).append(group)
    found_by: dict[str, list[tuple[str, list[str]]]] = {}
    for cause in content["causes"]:
        by_title: dict[str, list[str]] = {}
        for name in cause["findings"]:
            by_title.setdefault(titles[name], []).append(name)
        found_by[cause["id"]] = list(by_title.items())
    proofs: dict[str, Any] = {name: next((one for one in some if _is_proven(one)), None) for name, some in ways.items()}
    return {"ways": ways, "found_by": found_by, "proofs": defaultdict(lambda: None, proofs)}


def _is_proven(way: Mapping[str, Any]) -> bool:
    """True if a path of a way was proven, perhaps with assumptions."""
    return bool(way["proof"]) and way["proof"]["verdict"].startswith("proven")


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
        finalize=_shown,
    )
    made.filters["block"] = _block
    made.filters["counted"] = _counted
    return made


def _shown(value: Any) -> Any:
    """The shown form of a field: names escaped, markup of simkit's own unchanged."""
    return one_line(value) if type(value) is str else value


def _block(text: str) -> Any:
    """Several lines, shown as they are."""
    from markupsafe import escape

    return escape(terminal_text(text))


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
