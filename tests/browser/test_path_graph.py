"""The escalation graph in a real browser: its own search beside the one of Python, undone bindings, names of attackers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import simkit
from simkit.analysis import escalations, remediation_plan
from simkit.analysis.escalation.find.graph_document import GraphDocument, graph_document
from simkit.cluster.report.page_data import plain_block
from simkit.present.path_graph import graph_page_script, graph_styles

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def document() -> GraphDocument:
    """The graph of the demo cluster."""
    snapshot = simkit.demo().snapshot()
    return graph_document(snapshot, escalations(snapshot))


def _written(document: GraphDocument, folder: Path, proofs: dict[str, dict[str, object]] | None = None) -> str:
    """The address of a page with the graph alone."""
    file = folder / "graph.html"
    data = plain_block(
        "graph-data", {"graph": document, "proofs": [([path], proof) for path, proof in (proofs or {}).items()]}
    )
    file.write_text(
        f'<!DOCTYPE html><meta charset="utf-8"><style>{graph_styles()}</style><div id="graph"></div>{data}'
        f'<script type="module">{graph_page_script()}</script>',
        encoding="utf-8",
    )
    return file.as_uri()


_PROOF: dict[str, object] = {
    "verdict": "proven, 1 assumed",
    "requests": [
        {
            "actor": "alice",
            "request": "GET /api/v1/secrets",
            "status": 200,
            "message": "<b>ok</b>",
            "assumption": "the kubelet runs the command",
        }
    ],
}


def _open_pairs(document: GraphDocument, removed: Iterable[str]) -> int:
    """The number of subjects and goals with a path, by following edges until nothing new is found."""
    gone = {number for number, grant in enumerate(document["grants"]) if grant[0] in removed}
    usable = [all(set(some) - gone for some in use[3]) for use in document["uses"]]
    edges = [edge for edge in document["edges"] if usable[edge[2]]]
    pairs = 0
    for _, ends in document["goals"]:
        found = set(ends)
        while more := {edge[0] for edge in edges if edge[1] in found} - found:
            found |= more
        pairs += sum(start in found and start not in ends for start in document["starts"])
    return pairs


def test_the_browser_finds_the_paths_that_python_finds(page: Page, document: GraphDocument, tmp_path: Path) -> None:
    """As many paths in the same order of length, and as many left after bindings are undone as a naive search finds."""
    faults: list[str] = []
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    page.goto(_written(document, tmp_path))
    found = escalations(simkit.demo().snapshot())
    expect(page.locator(".sk-said")).to_contain_text(f"{len(found)} paths of {len(document['starts'])} subjects")
    page.select_option("select[aria-label=to]", label="any goal")
    hops = [int(text) for text in page.locator(".sk-graph tbody td:nth-child(3)").all_text_contents()]
    assert hops == sorted(path.hops for path in found)
    page.locator("summary", has_text="Undo a binding").click()
    removed: list[str] = []
    for number in range(3):
        tick = page.locator(".sk-ticks").first.locator("label").nth(number)
        removed.append(tick.evaluate("label => label.childNodes[1].textContent"))
        tick.locator("input").check()
        expect(page.locator(".sk-said")).to_contain_text(f"{_open_pairs(document, removed):,} paths of {len(found)}")
    assert faults == []


def test_a_path_is_told_step_by_step_with_its_proof(page: Page, document: GraphDocument, tmp_path: Path) -> None:
    """The steps, the grants behind them, and the recorded proof; the canvas is drawn and labelled for screen readers."""
    path = escalations(simkit.demo().snapshot(), goal="cluster-admin")[0]
    key = f"{path.subject} -> {path.goal.name}"
    page.goto(_written(document, tmp_path, {key: _PROOF}))
    page.locator("summary", has_text="as a table").click()
    page.locator(".sk-open", has_text=path.subject).first.click()
    about = page.locator(".sk-about")
    expect(about).to_contain_text(key)
    expect(about.locator("> ol > li")).to_have_count(len(path.edges))
    expect(about.locator(".sk-proof")).to_contain_text("proven, 1 assumed")
    expect(about.locator(".sk-proof")).to_contain_text("GET /api/v1/secrets \u2192 200 <b>ok</b>")
    expect(page.locator(".sk-canvas canvas").first).to_be_visible()
    assert "The table below" in (page.locator(".sk-canvas").get_attribute("aria-label") or "")


def test_the_steps_of_a_plan_are_walked(page: Page, tmp_path: Path) -> None:
    """A step shows the paths that it closes, in the table and in the picture, and says how many are left."""
    snapshot = simkit.demo().snapshot()
    plan, found = remediation_plan(snapshot, best=2), escalations(snapshot)
    steps = [(str(step.change), step.closed) for step in plan]
    page.goto(_written(graph_document(snapshot, found, plan=steps), tmp_path))
    choice = page.get_by_label("Paths closed by a step of the plan")
    for number, step in enumerate(plan):
        choice.select_option(str(number))
        said = f"Step {number + 1} of the plan closes {step.closes} paths of {len(found)}; {step.remaining} are left"
        expect(page.locator(".sk-said")).to_contain_text(said)
        expect(page.locator(".sk-graph tbody tr")).to_have_count(step.closes)
    page.get_by_role("button", name="Show all").click()
    expect(page.locator(".sk-said")).to_contain_text(f"{len(found)} paths of")


_RIM = """() => {
  const layer = document.querySelector("canvas.sigma-labels"), counts = new Map();
  const { data } = layer.getContext("2d").getImageData(0, 0, layer.width, layer.height);
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3] < 255) continue;
    const colour = `rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})`;
    counts.set(colour, (counts.get(colour) || 0) + 1);
  }
  const most = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 2).map(([colour]) => colour);
  return most.includes(getComputedStyle(layer.closest(".sk-canvas")).backgroundColor);
}"""
"""Whether the rim of the labels, of the two colours that they paint with, is the ground of the graph."""


_HIDDEN_MEANWHILE = """() => {
  document.body.style.display = "none";
  document.documentElement.dataset.theme = "dark";
  return new Promise((done) => setTimeout(() => { document.body.style.display = ""; done(); }));
}"""
"""A change of the theme as JupyterLab makes it."""


def test_the_graph_follows_the_theme_of_its_page(page: Page, document: GraphDocument, tmp_path: Path) -> None:
    """Labels are drawn anew when a button changes the theme, and not only when the system does."""
    page.emulate_media(color_scheme="light")
    page.goto(_written(document, tmp_path))
    page.wait_for_function(_RIM)
    for attribute, value in (("data-theme", "dark"), ("data-theme", "light"), ("class", "other")):
        page.evaluate("([name, value]) => document.documentElement.setAttribute(name, value)", [attribute, value])
        page.wait_for_function(_RIM)
    page.evaluate(_HIDDEN_MEANWHILE)
    page.wait_for_function(_RIM)


def test_names_of_a_cluster_are_never_markup(page: Page, tmp_path: Path) -> None:
    """A name that would end the block of data, or be an element, is text wherever it is shown."""
    evil = '</script><img src=x onerror="window.owned=1">'
    document: GraphDocument = {
        "nodes": [(evil, "User", ""), ("cluster-admin", "everything", "")],
        "steps": [("A1", evil, "critical")],
        "grants": [(evil, evil, 0, evil)],
        "uses": [(0, 1, 1.0, [[0]], evil)],
        "edges": [(0, 1, 0)],
        "goals": [(evil, [1])],
        "starts": [0],
        "partial": False,
        "plan": [],
        "later": 0,
    }
    page.goto(_written(document, tmp_path, {f"{evil} -> {evil}": {"verdict": evil, "requests": []}}))
    page.locator("summary", has_text="as a table").click()
    page.locator(".sk-open").click()
    expect(page.locator(".sk-about")).to_contain_text(evil)
    assert page.locator("img").count() == 0
    assert page.evaluate("window.owned") is None


def _large(people: int, accounts: int, pods: int) -> GraphDocument:
    """A made-up graph in which everybody takes over an account, it a pod, and that the cluster."""
    nodes = [(f"user:person-{number:05}", "User", "") for number in range(people)]
    nodes += [(f"sa:team/account-{number}", "ServiceAccount", "team") for number in range(accounts)]
    nodes += [*((f"pod {number}", "pod", "team") for number in range(pods)), ("cluster-admin", "everything", "")]
    first = people + accounts
    edges = [(one, people + (one * turn) % accounts, one % 50) for one in range(people) for turn in (1, 3, 7)]
    edges += [(people + one, first + (one * turn) % pods, one % 50) for one in range(accounts) for turn in (1, 3)]
    return {
        "nodes": nodes,
        "steps": [("A1", "takes it over", "high")],
        "grants": [(f"RoleBinding team/{number}", "Role r", 0, "group:all") for number in range(50)],
        "uses": [(0, 1, 1.0, [[number]], "") for number in range(50)],
        "edges": [*edges, *((first + one, len(nodes) - 1, one % 50) for one in range(pods))],
        "goals": [("cluster-admin", [len(nodes) - 1])],
        "starts": list(range(people)),
        "partial": False,
        "plan": [],
        "later": 0,
    }


def test_a_graph_of_5000_nodes_is_walked_in(page: Page, tmp_path: Path) -> None:
    """Unfolded, all nodes are drawn; a path is chosen and the picture moved and narrowed, each within seconds."""
    faults: list[str] = []
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    page.goto(_written(_large(3_000, 1_500, 499), tmp_path))
    expect(page.locator(".sk-said")).to_contain_text("3,000 paths of 3,000 subjects")
    page.locator("select").nth(1).select_option("")
    canvas = page.locator(".sk-canvas")
    expect(canvas).to_have_attribute("aria-label", re.compile(r"[45],\d{3} nodes, "), timeout=5_000)
    page.locator("summary", has_text="as a table").click()
    page.locator(".sk-open").first.click(timeout=5_000)
    expect(page.locator(".sk-about > ol > li")).to_have_count(3, timeout=5_000)
    canvas.press("ArrowLeft", timeout=5_000)
    page.get_by_label("from").fill("person-00042", timeout=5_000)
    expect(page.locator(".sk-graph tbody tr")).to_have_count(1, timeout=5_000)
    assert faults == []
