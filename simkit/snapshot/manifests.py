"""Manifests in all forms: text, paths, mappings, lists of them."""

from __future__ import annotations

from collections.abc import Sequence

from simkit.meta.domain import DEFAULT_NAMESPACE
from simkit.meta.errors import SimkitError
from simkit.meta.objects import Object
from simkit.snapshot.load import load
from simkit.snapshot.sources import Source


def manifests(source: Source, release: str, *, namespace: str = DEFAULT_NAMESPACE) -> Sequence[Object]:
    """The objects of manifests, in order, with lists split and secrets complete.

    Unlike the load of a dump, nothing may be lost: SimkitError tells what could not be read. Objects without a
    namespace get the given one.
    """
    dump = load(source, release=release, secrets=True, namespace=namespace)
    if dump.lost:
        raise SimkitError("; ".join(problem.as_refusal() for problem in dump.lost))
    return dump.objects
