"""Rules 9 and 10 of the deprecation policy: feature gates."""

from __future__ import annotations

from collections.abc import Iterator

from simkit.logic.lifecycle.calendar import Calendar
from simkit.logic.lifecycle.document import Gate, History, Stage
from simkit.logic.lifecycle.edition import GATE_TO_END, GATE_TO_STABLE, Edition
from simkit.logic.lifecycle.findings import Finding


def _first(gate: Gate, *stages: str) -> Stage | None:
    return next((each for each in gate.stages if each.stage in stages), None)


def gates_work_long_enough(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """Rule 9: a gate is accepted for a period after its feature became stable or was abandoned."""
    for gate in history.gates:
        if not gate.removed:
            continue
        end, was_beta = _first(gate, "ga", "deprecated"), _first(gate, "beta") is not None
        name = f"feature gate {gate.name}"
        if end is None:
            if was_beta:
                text = f"removed in {gate.removed} without being deprecated before"
                yield Finding("9", name, text, earliest=calendar.after(gate.removed, GATE_TO_END))
            continue
        if end.stage == "deprecated" and not was_beta:
            continue
        span = GATE_TO_STABLE if end.stage == "ga" else GATE_TO_END
        if not calendar.passed(end.release, gate.removed, span):
            lasted = calendar.describe(end.release, gate.removed)
            text = f"removed {lasted} after its feature became {end.stage} in {end.release}, where {span} are due"
            yield Finding("9", name, text, earliest=calendar.after(end.release, span))


def gates_have_the_right_states(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """Rule 9: alpha gates are off; beta gates on and free; stable gates on, without effect, and cannot be switched
    off."""
    wanted = {"alpha": (False, False), "beta": (True, False), "ga": (True, True)}
    for gate in history.gates:
        for stage in gate.stages:
            default, locked = wanted.get(stage.stage, (stage.default, stage.locked))
            name = f"feature gate {gate.name}"
            if stage.default != default:
                text = f"{'on' if stage.default else 'off'} by default as {stage.stage} in {stage.release}"
                yield Finding("9", name, text, "notice" if stage.stage == "beta" else "breach")
            if stage.locked and not locked:
                yield Finding("9", name, f"cannot be changed as {stage.stage} in {stage.release}")
            if locked and not stage.locked:
                yield Finding("9", name, f"can still be switched off as {stage.stage} in {stage.release}", "notice")


def deprecated_gates_are_told(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """Rule 10: use of a deprecated gate warns, and release notes and help document it and its remaining effect."""
    for gate in history.gates:
        if _first(gate, "ga", "deprecated") is None:
            continue
        said = {"its use does not warn": gate.warns, "no release note": gate.release_note, "no help": gate.help}
        missing = [text for text, there in said.items() if not there]
        if missing:
            yield Finding("10", f"feature gate {gate.name}", "deprecated, but: " + ", ".join(missing))
