"""Notes of a command on standard error, so that its answer can be piped."""

from __future__ import annotations

import sys
from typing import Final

_SWITCHES: Final = {"quiet": False}


def set_quiet(quiet: bool) -> None:
    """Turn notes off or on. Errors are always written."""
    _SWITCHES["quiet"] = quiet


def note(text: str) -> None:
    """Write a note, unless ``--quiet`` was given."""
    if not _SWITCHES["quiet"]:
        complain(text)


def complain(text: str) -> None:
    """Write an error about the input."""
    print(f"simkit: {text}", file=sys.stderr)
