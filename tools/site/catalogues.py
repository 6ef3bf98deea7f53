"""Catalogues made of tables: findings, escalation primitives with their proofs, and known differences."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from simkit.analysis.escalation.table.primitive import Operation, Primitive, Variant, primitives
from simkit.analysis.findings import CHECKS
from simkit.analysis.findings.references import references
from tools.site.proofs import proofs


def catalogue_pages(root: Path) -> dict[str, str]:
    """The pages of the catalogues by path."""
    return {
        "reference/catalogues/findings.md": findings_page(),
        "reference/catalogues/primitives.md": primitives_page(proofs()),
        "reference/catalogues/differences.md": differences_page(root),
    }


def findings_page() -> str:
    """Every check of the audit: severity, reason, fix, and the primitives that it concerns."""
    told = (
        f"The catalogue of findings: all {len(CHECKS)} checks of `simkit audit` and `cluster.findings()`, worst first."
    )
    parts = ["# Findings", told]
    rows = sorted(CHECKS, key=lambda check: (-check.severity.rank, check.id))
    parts.append(
        "\n".join(
            ["| check | severity | what |", "| --- | --- | --- |"]
            + [f"| [{check.id}](#{check.id}) | {check.severity} | {_cell(check.title)} |" for check in rows]
        )
    )
    for check in rows:
        about = ", ".join(f"[{one}](primitives.md#primitive-{one.lower()})" for one in check.primitives)
        parts += [f"({check.id})=\n## {check.id}", f"**{check.title}.** Severity: {check.severity}.", check.why]
        parts.append(f"Fix: {check.fix}")
        if about:
            parts.append(f"Escalation primitives: {about}.")
        if references(check.id):
            parts.append(f"Frameworks: {', '.join(references(check.id))}.")
    return "\n\n".join(parts) + "\n"


def primitives_page(shown: dict[str, str]) -> str:
    """Every primitive: what it needs, what it gives, its requests, and one proof that was executed."""
    every = primitives().primitives
    text = (
        f"All {len(every)} ways to get more rights that `simkit escalations` knows. A proof is one execution on a "
        f"small cluster, made when this page was built: {len(shown)} primitives have one. A primitive that is never "
        "executed says why."
    )
    parts = ["# Escalation primitives", text]
    for kind in dict.fromkeys(one.kind for one in every):
        parts.append(f"## Class: {kind}")
        parts += [part for one in every if one.kind == kind for part in _primitive(one, shown.get(one.id, ""))]
    return "\n\n".join(parts) + "\n"


def _primitive(one: Primitive, proof: str) -> Iterator[str]:
    table = primitives()
    yield f"(primitive-{one.id.lower()})=\n### {one.id}: {one.title}"
    releases = f"from {one.since}" + (f" until before {one.until}" if one.until else "")
    yield f"Severity: {one.severity}. Releases: {releases if one.since != '1.0' or one.until else 'all'}."
    yield "\n".join(_variants(one))
    if one.not_executable:
        yield f"Not executed: {one.not_executable}"
    if proof:
        yield f"A proof:\n\n```text\n{proof}\n```"
    yield f"What to do: {one.mitigation}"
    links = ", ".join(f"[{name}]({table.sources[name]})" for name in one.references)
    yield f"References: {', '.join((links, *references(one.id)))}."


def _variants(one: Primitive) -> Iterator[str]:
    for variant in one.variants:
        needs = ", ".join(f"`{need}`" for need in variant.requires) or "no permission"
        where = f", where `{variant.condition}` holds" if variant.condition else ""
        yield f"- Needs {needs}{where}. Gives: `{variant.outcome}`."
        yield from (f"  - {line}" for line in _operations(variant))


def _operations(variant: Variant) -> Iterator[str]:
    for operation in variant.execute or ():
        request = _request(operation)
        if request:
            who = "" if operation.by == "attacker" else f" (by the {operation.by}: {operation.because})"
            yield f"`{request}`{who}"


def _request(operation: Operation) -> str:
    for word, path in (
        ("", operation.do),
        ("change ", operation.change),
        ("connect ", operation.connect),
        ("approve ", operation.approve),
        ("read ", operation.read),
        ("sequence ", operation.use),
    ):
        if path:
            return word + path
    return ""


def differences_page(root: Path) -> str:
    """Answers that are known to differ from recorded ones of kube-apiserver."""
    known: dict[str, Any] = json.loads((root / "tests/conformance/known.json").read_text())
    parts = [
        "# Known differences",
        "Answers of simkit that are known to differ from those that kube-apiserver gave to the same requests. All "
        "others of the recorded conversations agree, and a test holds that. [Gaps](../../gaps.md) lists what is "
        "missing.",
    ]
    for name, areas in known.items():
        parts.append(f"## Conversations of {name}")
        lines = ["| area | conversation | requests | reason |", "| --- | --- | --- | --- |"]
        for area, entry in areas.items():
            for case, numbers in entry["cases"].items():
                reason = _cell(entry["reason"])
                lines.append(f"| {area} | {case} | {', '.join(map(str, numbers))} | {reason} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
