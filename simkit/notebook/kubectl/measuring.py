"""kubectl top: what simulated nodes and their pods use.

Upstream: k8s.io/kubectl/pkg/cmd/top and k8s.io/kubectl/pkg/metricsutil, release 1.32.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from simkit.meta.domain import api_group
from simkit.meta.quantity import NANO, parse
from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.notebook.kubectl.printing import columns_text

_GROUP: Final = api_group("metrics")
_METRICS: Final = f"/apis/{_GROUP}/v1beta1"
_MILLI: Final = NANO // 1000
_MEBI: Final = 2**20
_MEASURED: Final = ("cpu", "memory")
Usage = Mapping[str, int]


def top(client: Client, args: Namespace) -> str:
    """``top nodes`` and ``top pods``: processor time and memory, of which ``--sort-by`` gives the order."""
    word, *names = args.words or [""]
    if args.sort_by not in ("", *_MEASURED):
        raise KubectlError("error: --sort-by accepts only cpu or memory")
    known = dict.fromkeys(("node", "nodes", "no"), _nodes) | dict.fromkeys(("pod", "pods", "po"), _pods)
    if word not in known:
        raise KubectlError(f'error: unknown command "{word}"; known: top nodes, top pods')
    groups = client.ask("GET", "/apis").object["groups"]
    if not any(group["name"] == _GROUP for group in groups):
        raise KubectlError("error: Metrics API not available; next: cluster.add_nodes(1), whose metrics are measured")
    return known[word](client, args, names)


def _nodes(client: Client, args: Namespace, names: Sequence[str]) -> str:
    found = _items(client, args, f"{_METRICS}/nodes", names)
    if not found:
        raise KubectlError("error: metrics not available yet")
    rows = []
    for each in _ordered([(each, _amounts(each["usage"])) for each in found], args):
        name, used = each[0]["metadata"]["name"], each[1]
        node = client.ask("GET", client.path(client.resource("nodes"), "", name)).object
        there = _amounts(node["status"].get("allocatable") or {})
        shares = {word: f"{used[word] * 100 // there[word]}%" if there[word] else "<unknown>" for word in _MEASURED}
        cpu, memory = _shown(used)
        rows.append([name, cpu, shares["cpu"], memory, shares["memory"]])
    return _table(["NAME", "CPU(cores)", "CPU(%)", "MEMORY(bytes)", "MEMORY(%)"], rows, args)


def _pods(client: Client, args: Namespace, names: Sequence[str]) -> str:
    scope = "" if args.all_namespaces else f"/namespaces/{client.namespace}"
    found = _items(client, args, f"{_METRICS}{scope}/pods", names)
    if not found:
        return _without_metrics(client, args)
    rows = []
    heads = ["NAMESPACE"] * args.all_namespaces + ["POD"] * args.containers + ["NAME", "CPU(cores)", "MEMORY(bytes)"]
    whole = [(each, _sum(_amounts(one["usage"]) for one in each["containers"])) for each in found]
    for each, used in _ordered(whole, args):
        data = each["metadata"]
        place = [data["namespace"]] if args.all_namespaces else []
        if args.containers:
            parts = sorted(each["containers"], key=lambda one: str(one["name"]))
            rows += [[*place, data["name"], one["name"], *_shown(_amounts(one["usage"]))] for one in parts]
        else:
            rows.append([*place, data["name"], *_shown(used)])
    return _table(heads, rows, args)


def _without_metrics(client: Client, args: Namespace) -> str:
    """The answer where no pod was measured. Raises KubectlError if there are pods, which have just started."""
    namespace = "" if args.all_namespaces else client.namespace
    query = {"labelSelector": args.selector} if args.selector else None
    if client.ask("GET", client.path(client.resource("pods"), namespace), query=query).object["items"]:
        raise KubectlError("error: metrics not available yet")
    return "No resources found\n" if args.all_namespaces else f"No resources found in {namespace} namespace.\n"


def _items(client: Client, args: Namespace, path: str, names: Sequence[str]) -> list[dict[str, Any]]:
    if names:
        return [client.ask("GET", f"{path}/{name}").object for name in names]
    query = {"labelSelector": args.selector} if args.selector else None
    return list(client.ask("GET", path, query=query).object["items"])


def _amounts(usage: Mapping[str, str]) -> dict[str, int]:
    """Thousandths of a core, and bytes."""
    units = {"cpu": _MILLI, "memory": NANO}
    return {word: -(-parse(usage.get(word, "0")).nano // units[word]) for word in _MEASURED}


def _sum(parts: Iterable[Usage]) -> dict[str, int]:
    listed = list(parts)
    return {word: sum(each[word] for each in listed) for word in _MEASURED}


def _ordered(
    found: Sequence[tuple[dict[str, Any], dict[str, int]]], args: Namespace
) -> list[tuple[dict[str, Any], dict[str, int]]]:
    """By name, or by what is used, most first."""
    named = sorted(found, key=lambda each: (each[0]["metadata"].get("namespace", ""), each[0]["metadata"]["name"]))
    return sorted(named, key=lambda each: -each[1][args.sort_by]) if args.sort_by else named


def _shown(used: Usage) -> tuple[str, str]:
    return f"{used['cpu']}m", f"{used['memory'] // _MEBI}Mi"


def _table(heads: list[str], rows: list[list[str]], args: Namespace) -> str:
    """Columns of which the last is filled up too."""
    return columns_text([[*row, ""] for row in (rows if args.no_headers else [heads, *rows])])
