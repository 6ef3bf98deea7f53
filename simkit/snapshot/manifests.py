"""Manifests in all forms: text, paths, mappings, lists of them."""

from __future__ import annotations

from collections.abc import Sequence

from simkit.meta.errors import SimkitError
from simkit.meta.objects import Object
from simkit.snapshot.load import load
from simkit.snapshot.sources import Source


def manifests(source: Source, release: str) -> Sequence[Object]:
    """The objects of manifests, in order, with lists split and secrets complete.

    Unlike the load of a dump, nothing may be lost: SimkitError tells what could not be read.
    """
    dump = load(source, release=release, secrets=True)
    if dump.lost:
        raise SimkitError("; ".join(str(problem) for problem in dump.lost))
    return dump.objects
