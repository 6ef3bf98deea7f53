"""Panels and completion over a cluster whose names were made by an attacker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import simkit
from simkit.meta import datasets
from simkit.notebook import inspect_request, panel, path_graph, what_if_panel
from simkit.notebook.explorer import Explorer
from simkit.notebook.magics import completions
from simkit.notebook.parts import Text
from tests.security.hostile_cluster import Elements, assert_visible

_HARMLESS = frozenset({"b", "i", "ol", "ul", "li", "pre", "code", "span", "table", "thead", "tbody", "tr", "th", "td"})
PANELS: dict[str, Callable[[simkit.Cluster], Any]] = {
    "who can": panel,
    "what if": what_if_panel,
    "explorer": Explorer,
    "escalation": path_graph,
    "request": inspect_request,
}


@pytest.fixture(scope="module")
def cluster() -> simkit.Cluster:
    """The hostile cluster, with a namespace whose name shows itself as another one."""
    odd = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in ("-n", "a\u202eb", "a\x1b[2J")
    ]
    return simkit.load([datasets.path("clusters/hostile.json"), odd], captured=["*"])


def parts(widget: Any) -> Iterator[Any]:
    """A widget with everything in it."""
    yield widget
    for each in getattr(widget, "children", ()):
        yield from parts(each)


@pytest.mark.parametrize("name", PANELS)
def test_what_a_panel_shows_is_visible(cluster: simkit.Cluster, name: str) -> None:
    """Suggestions of fields were shown raw; texts are escaped, and hold no elements but those of the panel."""
    shown = PANELS[name](cluster)
    shown.wait()
    for each in parts(shown):
        for option in getattr(each, "options", ()):
            assert_visible(str(option))
            assert not str(option).startswith("-")
        if isinstance(each, Text):
            assert_visible(each.value)
            assert set(Elements(each.value).names) <= _HARMLESS


def test_fields_suggest_the_names_that_can_be_seen(cluster: simkit.Cluster) -> None:
    """The others can be typed."""
    asked = panel(cluster)
    asked.resource.value = "secrets"
    asked.ask.click()
    asked.wait()
    assert "hostile" in asked.namespace.options


def test_completion_offers_what_can_be_seen(cluster: simkit.Cluster) -> None:
    """No name that is an option, has invisible letters, or would be several words."""
    for line in ("%kubectl get ns -n ", "%kubectl get clusterrolebindings ", "%kubectl get ns "):
        found = completions(cluster, line, "")
        assert found
        for word in found:
            assert_visible(word)
            assert not word.startswith("-")
            assert not set(word) & set(" ;'\"$`<>|&")
