"""Writes the bundled cluster, ``datasets/clusters``: an invented company with its operators, teams and mistakes.

Run as ``python -m tools.make_cluster`` from the top of a checkout. The same program gives the same bytes.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import orjson

from simkit.logic.rbac.aggregate import with_aggregated_rules
from simkit.meta.clock import NameSource, SimulatedClock, timestamp
from simkit.meta.objects import metadata
from simkit.snapshot.load import load
from simkit.snapshot.save import save
from tools.cluster.build import Obj
from tools.cluster.mistakes import INNOCENT, MISTAKES, planted
from tools.cluster.operators import installed
from tools.cluster.system import system
from tools.cluster.teams import COMPANY, company
from tools.cluster.workloads import Workloads

FOLDER: Final = Path(__file__).resolve().parents[1] / "datasets" / "clusters"
SEED: Final = 1830
EMPTY: Final = ("csr", "pv", "validatingadmissionpolicies", "validatingadmissionpolicybindings", "statefulsets", "jobs")
"""Resources of which the dump says that there are none. What is in neither (events, say) was not captured."""
GENERATIONS: Final = frozenset(
    ("Deployment", "ReplicaSet", "DaemonSet", "CronJob", "Ingress", "NetworkPolicy", "PodDisruptionBudget")
)
"""Kinds whose stored objects count the changes of their spec."""


def objects() -> list[Obj]:
    """Every object of the cluster as it was stored, in order of creation."""
    chance = NameSource(SEED)
    workloads = Workloads(chance.child())
    everything = [*system(workloads), *installed(workloads), *company(workloads), *planted()]
    return list(_stored(_counted(_gathered(everything)), chance.child()))


def _gathered(everything: Iterable[Obj]) -> list[Obj]:
    """With the rules that aggregated roles have once the controller has seen them."""
    listed = list(everything)
    whole = {
        role["metadata"]["name"]: dict(role)
        for role in with_aggregated_rules(obj for obj in listed if obj["kind"] == "ClusterRole")
    }
    return [whole[obj["metadata"]["name"]] if obj["kind"] == "ClusterRole" else obj for obj in listed]


def _counted(everything: Iterable[Obj]) -> list[Obj]:
    """With what quotas count: the pods of their namespace and what their containers request."""
    listed = list(everything)
    used: dict[str, Counter[str]] = {}
    for pod in (obj for obj in listed if obj["kind"] == "Pod"):
        counted = used.setdefault(pod["metadata"]["namespace"], Counter())
        requests = [one["resources"]["requests"] for one in pod["spec"]["containers"] if one.get("resources")]
        counted["pods"] += 1
        counted["cpu"] += sum(int(one["cpu"].removesuffix("m")) for one in requests)
        counted["memory"] += sum(int(one["memory"].removesuffix("Mi")) for one in requests)
    return [_with_use(obj, used) if obj["kind"] == "ResourceQuota" else obj for obj in listed]


def _with_use(quota: Obj, used: dict[str, Counter[str]]) -> Obj:
    seen = used.get(quota["metadata"]["namespace"], Counter())
    amounts = {
        "pods": str(seen["pods"]),
        "requests.cpu": f"{seen['cpu']}m",
        "requests.memory": f"{seen['memory']}Mi",
    }
    return {**quota, "status": {**quota["status"], "used": amounts}}


def _stored(everything: Iterable[Obj], chance: NameSource) -> Iterator[Obj]:
    """With what a server adds: uid, version, time of creation, generation, and the uids of owners."""
    clock, revision = SimulatedClock(), 1
    uids: dict[tuple[str, str, str], str] = {}
    seen: set[tuple[str, str, str]] = set()
    for obj in everything:
        clock.advance(37 if revision < 2000 else 3601)
        revision += 1 + sum(map(ord, obj["metadata"]["name"])) % 7
        namespace = obj["metadata"].get("namespace", "")
        place = (obj["kind"], namespace, obj["metadata"]["name"])
        if place in seen:
            raise SystemExit(f"made twice: {' '.join(place)}")
        seen.add(place)
        uids[place] = chance.uid()
        added: dict[str, Any] = {
            "creationTimestamp": timestamp(clock.now()),
            "uid": uids[place],
            "resourceVersion": str(revision),
        }
        if obj["kind"] in GENERATIONS:
            added["generation"] = 1
        named = metadata(obj).get("ownerReferences", ())
        owners = [{**owner, "uid": uids[owner["kind"], namespace, owner["name"]]} for owner in named]
        if owners:
            added["ownerReferences"] = owners
        yield {**obj, "metadata": {**obj["metadata"], **added}}


def main() -> None:
    """Write the dump and the list of its mistakes; print what there is."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    dump = load(objects(), captured=EMPTY, secrets=True)
    if dump.problems:
        raise SystemExit("\n".join(map(str, dump.problems)))
    path = save(dump, FOLDER / f"{COMPANY}.json.gz")
    lists = {"mistakes": [mistake.entry() for mistake in MISTAKES], "innocent": [each.entry() for each in INNOCENT]}
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    (FOLDER / f"{COMPANY}-mistakes.json").write_bytes(orjson.dumps(lists, option=options))
    kinds = Counter(obj["kind"] for obj in dump)
    sys.stdout.write(f"{len(dump)} objects, {path.stat().st_size:,} bytes: {dict(kinds.most_common())}\n")


if __name__ == "__main__":
    main()
