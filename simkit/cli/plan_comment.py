"""A plan as a comment for code review: the worst first, everything else in sections that open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from simkit.present.escaping import markdown_block, markdown_cell, markdown_code

if TYPE_CHECKING:
    from simkit.analysis.manifest_plan.result import ManifestPlan, PlanRow

MARK: Final = "<!-- simkit plan -->"
"""The first line, by which a pipeline finds the comment that it wrote before."""
SHOWN: Final = 8
"""The lines before the sections."""
LONGEST: Final = 60_000
"""The letters of a comment; code hosts refuse those of more than 65,536."""
_FEWEST: Final = 30


def comment(plan: ManifestPlan, link: str = "") -> str:
    """The markdown of a plan.

    Parameters
    ----------
    plan
        The plan.
    link
        The address of a line of a file, with ``{file}`` and ``{line}`` in it; empty for none.
    """
    parts = [MARK, f"### {plan.headline}", ""]
    worst = [
        row for row in sorted(plan.rows, key=lambda row: row.severity, reverse=True) if str(row.severity) != "info"
    ]
    kinds = _alike(worst)
    parts += [_line(rows[0], link) + _others(rows) for rows in kinds[:SHOWN]]
    untold = sum(map(len, kinds[SHOWN:]))
    if untold:
        parts.append(f"- and {untold} more, below")
    parts += [f"- {markdown_cell(note)}" for note in plan.notes]
    for title, rows in plan.sections():
        parts += ["", f"<details><summary>{title} ({len(rows)})</summary>", "", *_section(rows, link), "", "</details>"]
    return _cut("\n".join([*parts, ""]))


def _alike(rows: Sequence[PlanRow]) -> list[list[PlanRow]]:
    """The lines in their order, those together that one place of the manifests causes in the same section."""
    found: dict[tuple[str, ...], list[PlanRow]] = {}
    for row in rows:
        cause = row.place or (row.what if row.section != "paths" else row.detail)
        found.setdefault((row.section, row.change, cause), []).append(row)
    return list(found.values())


def _others(rows: Sequence[PlanRow]) -> str:
    return f", and {len(rows) - 1} like it" if len(rows) > 1 else ""


def _section(rows: Sequence[PlanRow], link: str) -> Iterator[str]:
    for row in rows:
        yield f"- {markdown_cell(row.change)} {markdown_code(row.what)}{_place(row, link)}"
        if row.detail:
            yield ""
            yield markdown_block(row.detail)


def _line(row: PlanRow, link: str) -> str:
    """One line: severity, what happens to what, the first line of the reason, and the place."""
    reason = row.detail.partition("\n")[0]
    told = f": {markdown_cell(reason)}" if reason else ""
    mark = ":warning: " if str(row.severity) in ("high", "critical") else ""
    return f"- {mark}**{markdown_cell(row.change)}** {markdown_code(row.what)}{told}{_place(row, link)}"


def _place(row: PlanRow, link: str) -> str:
    if not row.file:
        return ""
    shown = markdown_code(row.place)
    if not link:
        return f" ({shown})"
    from urllib.parse import quote

    return f" ([{shown}](<{link.replace('{file}', quote(row.file)).replace('{line}', str(row.line or 1))}>))"


def _cut(text: str) -> str:
    """The comment without its last sections, if it is too long for a code host."""
    if len(text) <= LONGEST:
        return text
    whole, *sections = text.split("\n\n<details>")
    told = "\n\nThe plan is longer than a comment may be; run `simkit plan` to see all of it.\n"
    kept = whole
    for section in sections:
        if len(kept) + len(section) + len(told) + _FEWEST > LONGEST:
            break
        kept += f"\n\n<details>{section}"
    return kept[:LONGEST] + told
