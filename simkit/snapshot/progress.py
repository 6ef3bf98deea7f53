"""A progress bar for slow loads on a terminal or in a notebook."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Final

PATIENCE: Final = 2.0
"""Seconds before a bar appears."""


class Progress:
    """Counts characters read. The bar, and the library for it, appear only after some seconds.

    Examples
    --------
    >>> with Progress(total=100, watched=False) as progress:
    ...     progress.advance(100)
    """

    def __init__(self, total: int, *, watched: bool | None = None) -> None:
        self._total, self._done = total, 0
        self._watched = _is_watched() if watched is None else watched
        self._start = time.monotonic()
        self._drawn: Any = None

    def advance(self, characters: int) -> None:
        """Count further characters."""
        self._done += characters
        if self._drawn is not None:
            self._drawn.update(characters)
        elif self._watched and time.monotonic() - self._start > PATIENCE:
            self._drawn = self._draw()

    def _draw(self) -> Any:
        from tqdm.auto import tqdm

        return tqdm(total=self._total, initial=self._done, unit="B", unit_scale=True, desc="loading", leave=False)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn is not None:
            self._drawn.close()


def _is_watched() -> bool:
    """True if there is a terminal or a notebook to draw in."""
    return "ipykernel" in sys.modules or sys.stderr.isatty()
