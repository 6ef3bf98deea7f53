"""Outputs of notebooks on the site can be read in both themes, and no long signature is cut."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from simkit.notebook.verdict import RIGHT_COLOUR, WRONG_COLOUR
from simkit.present.design import stylesheet

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

pytestmark = pytest.mark.slow

STYLE = Path(__file__).parents[2] / "docs/static/site.css"
THEME = "pydata_sphinx_theme/theme/pydata_sphinx_theme/static/styles"
LEAST_CONTRAST = 4.5
"""The ratio that WCAG 2.2 asks of text at level AA (success criterion 1.4.3)."""
CONTRAST = """element => {
  const channels = text => text.match(/[\\d.]+/g).map(Number);
  const light = text => channels(text).slice(0, 3).map(each => each / 255)
    .map(each => each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
    .reduce((sum, each, index) => sum + each * [0.2126, 0.7152, 0.0722][index], 0);
  let ground = element;
  while (ground && (channels(getComputedStyle(ground).backgroundColor)[3] ?? 1) < 0.5) ground = ground.parentElement;
  const pair = [light(getComputedStyle(element).color), ground ? light(getComputedStyle(ground).backgroundColor) : 1];
  return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
}"""


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page with the style of the site, one output of a notebook and a long signature."""
    folder = Path(str(distribution("pydata-sphinx-theme").locate_file(THEME)))
    styles = [(folder / "theme.css"), (folder / "pydata-sphinx-theme.css"), STYLE]
    of_sphinx = "span.pre { white-space: nowrap }"  # in its basic.css
    texts = "".join(
        f"<style>{text}</style>" for text in (of_sphinx, stylesheet(), *(path.read_text() for path in styles))
    )
    output = (
        f'<pre style="background:none">told</pre><code>told</code><b style="color:{RIGHT_COLOUR}">right</b>'
        f'<b style="color:{WRONG_COLOUR}">wrong</b><b style="color:#E69F00">not executed</b>'
    )
    signature = f'<dl><dt class="sig"><span class="pre">{"a" * 500}</span></dt></dl>'
    opened = context.new_page()
    opened.set_content(
        f'<html data-theme="light"><head>{texts}</head><body><div class="bd-content"><div class="cell_output">'
        f'<div class="output text_html">{output}</div></div>{signature}</div></body></html>'
    )
    yield opened
    opened.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("selector", ["pre", "code", "b:nth-of-type(1)", "b:nth-of-type(2)", "b:nth-of-type(3)"])
def test_outputs_have_enough_contrast(page: Page, theme: str, selector: str) -> None:
    """What an output tells stands out from its ground: in the dark theme, ``pre`` had the colour of its ground."""
    page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
    assert page.eval_on_selector(f".text_html > {selector}", CONTRAST) >= LEAST_CONTRAST


def test_a_long_signature_is_broken(page: Page) -> None:
    """A signature of one long word does not make its page wider."""
    page.set_viewport_size({"width": 800, "height": 600})
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
