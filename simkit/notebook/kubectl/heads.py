"""Version, kind and name of an object that a command makes."""

from __future__ import annotations

from typing import Any


def head(version: str, kind: str, name: str, **metadata: Any) -> dict[str, Any]:
    """An object with these and nothing else."""
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}}
