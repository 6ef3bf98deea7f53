"""The files of recordings that travel with the repository: see ``recorded/README.md``."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

RECORDED: Final = Path(__file__).with_name("recorded")


def lines(name: str) -> Iterator[Any]:
    """The JSON documents of a file ``recorded/NAME.jsonl.xz``, one a line."""
    with lzma.open(RECORDED / f"{name}.jsonl.xz") as file:
        yield from map(json.loads, file)


def access_worlds() -> Iterator[Any]:
    """Small clusters with what kube-apiserver 1.30 answered to access reviews about them.

    Each has ``name``, ``world`` (its objects come on top of ``fresh_cluster``), ``questions`` and ``rulesReviews``.
    """
    return lines("access-worlds")


@cache
def fresh_cluster() -> Sequence[Any]:
    """All objects of a cluster of release 1.30 that nobody has used yet."""
    return tuple(lines("fresh-cluster"))
