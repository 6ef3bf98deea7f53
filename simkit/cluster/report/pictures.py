"""The pictures of a report, drawn as SVG that follows the colours of the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from simkit.meta.visible_text import html_text, one_line

WIDE: Final = 640
HIGH: Final = 240
LEFT, RIGHT, TOP, BOTTOM = 48, 12, 14, 30


def curve(plan: Mapping[str, Any]) -> str:
    """A curve of the remaining paths after each step of a plan, with labelled points; empty without steps."""
    steps = plan["steps"]
    if not steps:
        return ""
    paths = [plan["before"]["paths"], *(step["remaining"] for step in steps)]
    subjects = [plan["before"]["subjects"], *(step["subjects"] for step in steps)]
    findings = [plan["before"]["findings"], *(step["findings"] for step in steps)]
    highest = max(*paths, *subjects, *findings, 1)
    names = ["before", *(f"{step['number']}. {one_line(step['change'])}" for step in steps)]
    told = f"{paths[0]} escalation paths become {paths[-1]} after {len(steps)} changes."
    parts = [
        f'<svg viewBox="0 0 {WIDE} {HIGH}" role="img" aria-label="{html_text(told)}" class="curve">',
        f"<title>{html_text(told)}</title>",
        *_frame(highest, len(steps)),
    ]
    numbers = {"findings": findings, "subjects": subjects, "paths": paths}
    parts += [_line(name, values, highest) for name, values in numbers.items()]
    if plan["diminishing_after"]:
        x = _x(plan["diminishing_after"], len(steps))
        parts.append(f'<line x1="{x}" x2="{x}" y1="{TOP}" y2="{HIGH - BOTTOM}" class="fewer"/>')
        parts.append(f'<text x="{x + 5}" y="{TOP - 4}">later steps close less</text>')
    parts += [_step(place, numbers, highest, name) for place, name in enumerate(names)]  # above all that could cover it
    return "".join((*parts, "</svg>"))


def _x(place: int, steps: int) -> float:
    return round(LEFT + (WIDE - LEFT - RIGHT) * place / max(steps, 1), 1)


def _y(value: int, highest: int) -> float:
    return round(TOP + (HIGH - TOP - BOTTOM) * (1 - value / highest), 1)


def _frame(highest: int, steps: int) -> list[str]:
    """The axis of numbers at the left, the steps below."""
    parts = []
    for share in (0, 0.5, 1):
        y = _y(round(highest * share), highest)
        parts.append(f'<line x1="{LEFT}" x2="{WIDE - RIGHT}" y1="{y}" y2="{y}" class="grid"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{round(highest * share):,}</text>')
    for place in range(steps + 1):
        word = "before" if not place else str(place)
        parts.append(f'<text x="{_x(place, steps)}" y="{HIGH - 10}" text-anchor="middle">{word}</text>')
    return parts


def _line(name: str, values: list[int], highest: int) -> str:
    points = " ".join(f"{_x(place, len(values) - 1)},{_y(value, highest)}" for place, value in enumerate(values))
    return f'<polyline points="{points}" class="line {name}"/>'


def _step(place: int, numbers: Mapping[str, list[int]], highest: int, told: str) -> str:
    """The dots of a step on all lines: one link to the step, or no link before the first."""
    dots = "".join(
        f'<circle cx="{_x(place, len(values) - 1)}" cy="{_y(values[place], highest)}" r="4" class="{name}">'
        f"<title>{html_text(told)}: {values[place]:,} {name} left</title></circle>"
        for name, values in numbers.items()
    )
    return f'<a href="#s-{place}">{dots}</a>' if place else dots
