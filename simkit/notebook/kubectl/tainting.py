"""kubectl taint.

Upstream: k8s.io/kubectl/pkg/cmd/taint, release 1.32.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.meta.objects import at
from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.notebook.kubectl.selection import named, title
from simkit.notebook.kubectl.writing import query_of

_STRATEGIC: Final = "application/strategic-merge-patch+json"
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


class _Change(NamedTuple):
    """A taint that is set or, with a minus at its end, taken away; of any effect if that is empty."""

    key: str
    value: str
    effect: str
    gone: bool


def taint(client: Client, args: Namespace) -> str:
    """Taints of nodes, set with ``key=value:Effect`` and removed with ``key-`` or ``key:Effect-``."""
    changes = [_change(word) for word in args.words if _is_change(word)]
    args.words = [word for word in args.words if not _is_change(word)]
    if not changes:
        raise KubectlError("error: at least one taint update is required")
    if args.words[:1] not in (["node"], ["nodes"], ["no"]):
        raise KubectlError(f"error: invalid resource type {', '.join(args.words[:1])}, only node(s) is supported")
    lines = ""
    for resource, _, name in named(client, args):
        path = client.path(resource, "", name)
        known = at(client.ask("GET", path).object, "spec", "taints") or ()
        taints, word = _changed(known, changes, args, name)
        body = {"spec": {"taints": taints or None}}
        client.ask("PATCH", path, body, query=query_of(args, fieldManager="kubectl-taint"), media=_STRATEGIC)
        lines += f"{title(resource, name)} {word}\n"
    return lines


def _is_change(word: str) -> bool:
    return ":" in word or "=" in word or word.endswith("-")


def _change(word: str) -> _Change:
    gone = word.endswith("-")
    named_part, _, effect = word.removesuffix("-").partition(":")
    key, _, value = named_part.partition("=")
    if not key or (not effect and not gone):
        raise KubectlError(f"error: invalid taint spec: {word}; next: key=value:NoSchedule")
    if effect and effect not in _EFFECTS:
        raise KubectlError(
            f"error: invalid taint effect: {effect}, unsupported taint effect\n"
            "See 'kubectl taint -h' for help and examples"
        )
    return _Change(key, value, effect, gone)


def _changed(
    known: Sequence[Mapping[str, Any]], changes: Sequence[_Change], args: Namespace, node: str
) -> tuple[list[Mapping[str, Any]], str]:
    """The taints that a node has then, and the word for it. Raises KubectlError for what it has already, or has not."""
    added = [each for each in changes if not each.gone]
    gone = [each for each in changes if each.gone]
    if not args.overwrite:
        there = {(each["key"], each["effect"]) for each in known}
        twice = [each.key for each in added if (each.key, each.effect) in there]
        if twice:
            told = f"node {node} already has {','.join(twice)} taint(s) with same effect(s) and --overwrite is false"
            raise KubectlError(f"error: {told}")
    taints: list[Mapping[str, Any]] = [dict(_taint(each)) for each in added]
    fresh = {(each.key, each.effect) for each in added}
    taints += [each for each in known if (each["key"], each["effect"]) not in fresh]
    for each in gone:
        left = [one for one in taints if one["key"] != each.key or each.effect not in ("", one["effect"])]
        if len(left) == len(taints):
            raise KubectlError(f'error: taint "{each.key}{":" + each.effect if each.effect else ""}" not found')
        taints = left
    if (added and gone) or args.overwrite:
        return taints, "modified"
    return taints, "tainted" if added else "untainted"


def _taint(change: _Change) -> Iterator[tuple[str, str]]:
    yield "key", change.key
    if change.value:
        yield "value", change.value
    yield "effect", change.effect
