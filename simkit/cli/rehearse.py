"""``simkit rehearse``: drained and lost nodes and rollouts, tried on a fork with simulated nodes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from simkit.cli.notes import note
from simkit.cli.output import COMPLETE, add_output, write_rows, write_value
from simkit.cli.source import add_source, cluster_of, opened
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource
from simkit.meta.visible_text import one_line

if TYPE_CHECKING:
    from simkit.analysis import Operation
    from simkit.cluster.cluster import Cluster
    from simkit.snapshot.dump import Dump

DESCRIPTION = "Tries an operation on a copy of the cluster, and shows what happens to each pod."
EXAMPLES = """\
examples:
  simkit rehearse drain node-1 --dump cluster.yaml
  simkit rehearse drain --zone eu-west-1a --dump cluster.yaml -o json
  simkit rehearse loss --zone eu-west-1a --dump cluster.yaml
  simkit rehearse rollout deployment/web -n shop --image web:2 --dump cluster.yaml

The answer says what is evicted, what a disruption budget blocks, and what stays pending and why.

Exit code: 0 when all pods run in the end, 1 when one is lost, blocked, stuck or pending, 2 for wrong use or input.
"""
_NAMESPACES = GroupResource("", "namespaces")
_AUTOSCALERS = GroupResource("autoscaling", "horizontalpodautoscalers")
_DEPENDED_ON = (
    *(GroupResource("", name) for name in ("nodes", "pods")),
    *(GroupResource("apps", name) for name in ("replicasets", "deployments", "statefulsets", "daemonsets")),
    GroupResource("policy", "poddisruptionbudgets"),
)
"""The resources without which a rehearsal misses what would happen."""
OPERATIONS = ("drain", "loss", "rollout")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("operation", choices=OPERATIONS, metavar="OPERATION", help=", ".join(OPERATIONS))
    parser.add_argument("name", nargs="*", metavar="NAME", help="nodes, or a workload (deployment/web)")
    parser.add_argument("--zone", default="", help="the zone whose nodes are drained or lost")
    parser.add_argument("-n", "--namespace", default="default", help="the namespace of the workload")
    parser.add_argument("--image", default="", help="the new image of the first container (default: a restart)")
    parser.add_argument("--timeout", default="10m", help="the time for a rollout, or for each drained node")
    parser.add_argument("--ready-after", default="10s", metavar="TIME", help="the time until a container is ready")
    add_source(parser, access=False)
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Rehearse, and return the exit code."""
    dump = opened(args)
    cluster = cluster_of(dump)
    _complete(cluster, dump)
    found = _rehearsed(cluster, args)
    if args.output in COMPLETE:
        write_value(found.to_dict(), args.output)
    else:
        frame = found.to_frame()
        write_rows(tuple(frame.columns), frame.to_dict("records"), args.output, empty="no pod is concerned")
    if args.output == "table":
        counts = ", ".join(f"{row['what']}: {row['count']}" for row in found.summary().to_dict("records"))
        note(one_line(f"{found.name}; {counts}"))
    return 0 if found else 1


def _complete(cluster: Cluster, dump: Dump) -> None:
    """Create the namespaces that a dump leaves out though objects are in them, and say what else it leaves out."""
    there = {key.name for key in dump.keyed if key.resource == _NAMESPACES}
    missing = sorted({key.namespace for key in dump.keyed} - there - {""})
    for name in missing:
        cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    if missing:
        note(f"namespaces that the dump leaves out though objects are in them, created: {one_line(', '.join(missing))}")
    left_out = [str(each) for each in _DEPENDED_ON if each not in dump.captured]
    if left_out:
        note(f"the dump has no {', '.join(left_out)}: what depends on them is not rehearsed")
    scaled = sum(key.resource == _AUTOSCALERS for key in dump.keyed)
    if scaled:
        note(f"autoscaling is not simulated: the {scaled} HorizontalPodAutoscalers of the dump change no replicas")


def _rehearsed(cluster: Cluster, args: argparse.Namespace) -> Operation:
    later = args.ready_after
    if args.operation == "drain":
        return cluster.drain_nodes(args.name, zone=args.zone, timeout=args.timeout, ready_after=later)
    if args.operation == "loss":
        return cluster.lose_nodes(args.name, zone=args.zone, ready_after=later)
    if len(args.name) != 1:
        raise SimkitError("rollout needs the name of one workload")
    return cluster.roll_out(args.name[0], args.namespace, image=args.image, timeout=args.timeout, ready_after=later)
