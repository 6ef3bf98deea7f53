"""The name under which simkit is installed, and its version."""

from __future__ import annotations

from typing import Final

DISTRIBUTION: Final = "kube-simkit"
"""The name of the distribution. The package ``simkit`` of the index is another project."""
VERSION: Final = "1.0.0"


def install_hint(extra: str) -> str:
    """The command that installs an extra.

    Examples
    --------
    >>> install_hint("live")
    "pip install 'kube-simkit[live]'"
    """
    return f"pip install '{DISTRIBUTION}[{extra}]'"
