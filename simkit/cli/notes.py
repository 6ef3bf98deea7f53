"""What a command says beside its answer: on standard error, so that the answer can be piped."""

from __future__ import annotations

import sys
from typing import Final

_SWITCHES: Final = {"quiet": False}


def set_quiet(quiet: bool) -> None:
    """Leave notes out from here on, or say them. Errors are always said."""
    _SWITCHES["quiet"] = quiet


def note(text: str) -> None:
    """Say something that is worth knowing, unless ``--quiet`` was given."""
    if not _SWITCHES["quiet"]:
        complain(text)


def complain(text: str) -> None:
    """Say what is wrong with the input."""
    print(f"simkit: {text}", file=sys.stderr)
