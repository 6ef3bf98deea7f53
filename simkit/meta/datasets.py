"""Access to ``datasets/``: at the top of a checkout, inside the package in an installed wheel."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import orjson

from simkit.meta.errors import SimkitError

DEMO: Final = "clusters/pellowick.json.gz"
"""The dump of the demo cluster."""


@cache
def root() -> Path:
    """The folder of the bundled tables."""
    package = Path(__file__).resolve().parents[1]
    for candidate in (package / "datasets", package.parent / "datasets"):
        if candidate.is_dir():
            return candidate
    raise SimkitError(f"the bundled datasets are missing beside {package}; reinstall simkit")


def path(name: str) -> Path:
    """The path of one bundled file, such as ``rbac/defaults-1.30.json``. Raises SimkitError if it does not exist."""
    found = root() / name
    if not found.exists():
        raise SimkitError(f"there is no bundled dataset {name!r} under {root()}")
    return found


def load(name: str) -> Any:
    """The decoded content of one bundled file: JSON (``.json``, ``.json.gz``) or YAML. Each call decodes anew."""
    raw = path(name).read_bytes()
    if name.endswith(".yaml") and not raw.startswith(b"{"):  # JSON is YAML too, and is read much faster
        import yaml  # most processes read JSON alone

        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        return yaml.load(raw, loader)  # noqa: S506 - both of them are safe
    return orjson.loads(gzip.decompress(raw) if name.endswith(".gz") else raw)


def lazy(name: str) -> Callable[[], Any]:
    """A reader of one bundled file that decodes it once, when it is first asked."""
    return cache(partial(load, name))
