"""Manifests in all forms: text, paths, mappings, lists of them."""

from __future__ import annotations

from collections.abc import Sequence

from simkit.meta.domain import DEFAULT_NAMESPACE
from simkit.meta.errors import SimkitError
from simkit.meta.objects import Object
from simkit.snapshot.dump import Dump
from simkit.snapshot.load import load
from simkit.snapshot.sources import Source


def manifests(source: Source, release: str, *, namespace: str = DEFAULT_NAMESPACE) -> Sequence[Object]:
    """The objects of manifests, in order, with lists split and secrets complete.

    Unlike the load of a dump, nothing may be lost: SimkitError tells what could not be read. Objects without a
    namespace get the given one.
    """
    return _whole(load(source, release=release, secrets=True, namespace=namespace)).objects


def placed_manifests(source: Source, release: str, *, namespace: str = DEFAULT_NAMESPACE) -> Dump:
    """As ``manifests``, with files and lines. Objects with fields of wrong types are kept, for a server to refuse."""
    return _whole(load(source, release=release, secrets=True, namespace=namespace, positions=True, mistyped=True))


def _whole(dump: Dump) -> Dump:
    if dump.lost:
        raise SimkitError("; ".join(problem.as_refusal() for problem in dump.lost))
    return dump
