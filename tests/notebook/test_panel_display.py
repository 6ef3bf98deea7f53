"""A panel's cell has a picture beside the widget, which follows what the panel shows."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

from simkit.notebook import timeline_panel
from simkit.notebook.panel_display import models_of

pytestmark = pytest.mark.slow

HTML = "text/html"


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What cells display."""
    shell: Any = InteractiveShell.instance()
    publisher: Any = CapturingDisplayPublisher(shell=shell)  # type: ignore[no-untyped-call]
    monkeypatch.setattr(shell, "display_pub", publisher)
    outputs: list[dict[str, Any]] = publisher.outputs
    return outputs


async def _changed() -> None:
    shown = timeline_panel()
    shown.wait()
    shown._ipython_display_()
    shown.lanes.release = "1.25"
    await asyncio.sleep(0.2)
    shown.lanes.release = "1.22"
    await asyncio.sleep(0.2)
    shown.wait()
    await asyncio.sleep(1.5)


def test_the_picture_follows_the_panel(published: list[dict[str, Any]]) -> None:
    """Several changes in a row make one new picture, in the place of the first."""
    asyncio.run(_changed())
    widget, first, second = published
    assert HTML not in widget["data"]
    assert first["transient"] == second["transient"]
    assert second["update"]
    assert first["data"][HTML] != second["data"][HTML]
    assert "display: none" not in second["data"][HTML]


def test_a_shell_without_a_page_is_shown_one_picture(published: list[dict[str, Any]]) -> None:
    """There is no event loop to draw it again."""
    shown = timeline_panel()
    shown._ipython_display_()
    shown.lanes.release = "1.25"
    shown.wait()
    assert len(published) == 2


def test_all_models_of_a_panel_are_found_once() -> None:
    """Layouts and styles too."""
    shown = timeline_panel()
    found = [type(each).__name__ for each in models_of(shown)]
    assert {"TimelinePanel", "Layout", "Pages"} <= set(found)
    assert len({each.model_id for each in models_of(shown)}) == len(found)
