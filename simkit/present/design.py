"""The style sheet that reports, panels of notebooks and the site share, and the mark of simkit."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from simkit.present.colours import BLUE, TOKENS

MARK: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" class="sk-mark" viewBox="0 0 24 24" width="24" height="24" '
    'aria-hidden="true" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" '
    'stroke-linejoin="round"><path d="M12 1.5l9.1 5.25v10.5L12 22.5l-9.1-5.25V6.75z"/>'
    '<path d="M9 17V7M9 14c0-4 6-1.5 6-5.5"/></svg>'
)
"""The mark: a hexagon with a fork in it."""
MARK_ON_PAPER: Final = MARK.replace("currentColor", BLUE)
"""The mark as a picture of its own, for light and dark paper."""


@cache
def stylesheet() -> str:
    """The tokens of ``colours.TOKENS`` as custom properties, and the components that use them.

    Notes
    -----
    Every class begins with ``sk-``, so that the sheet can be put on pages of others. Colours follow the
    ``color-scheme`` of the element that they are on.
    """
    tokens = "".join(
        f"--sk-{name}:{light if light == dark else f'light-dark({light},{dark})'};"
        for name, (light, dark) in TOKENS.items()
    )
    components = files("simkit.present").joinpath("design.css").read_text(encoding="utf-8")
    return f":root, :host {{{tokens}}}\n{components}"
