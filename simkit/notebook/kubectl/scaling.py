"""kubectl autoscale.

Upstream: k8s.io/kubectl/pkg/cmd/autoscale, release 1.32.
"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.notebook.kubectl.making import created
from simkit.notebook.kubectl.selection import selected


def autoscale(client: Client, args: Namespace) -> str:
    """An autoscaler for a workload: ``autoscale deployment NAME --max=5 [--min=2] [--cpu-percent=80]``."""
    if not args.max:
        raise KubectlError('error: required flag(s) "max" not set')
    numbers = {"minReplicas": args.min, "maxReplicas": args.max, "targetCPUUtilizationPercentage": args.cpu_percent}
    made = []
    for one in selected(client, args.words):
        if not one.name:
            raise KubectlError("error: resource(s) were provided, but no name was specified")
        live = client.ask("GET", client.path(one.resource, client.namespace, one.name)).object
        target = {"apiVersion": live["apiVersion"], "kind": live["kind"], "name": one.name}
        spec: dict[str, Any] = {name: _number(text) for name, text in numbers.items() if text}
        made.append(
            {
                "apiVersion": "autoscaling/v1",
                "kind": "HorizontalPodAutoscaler",
                "metadata": {"name": args.name or one.name},
                "spec": {"scaleTargetRef": target, **spec},
            }
        )
    return created(client, args, made, "kubectl-autoscale", "autoscaled")


def _number(text: str) -> int:
    if not text.lstrip("-").isdecimal():
        raise KubectlError(f'error: invalid argument "{text}": it is not a number')
    return int(text)
