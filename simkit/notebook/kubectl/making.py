"""kubectl run, expose, cordon and uncordon.

Upstream: k8s.io/kubectl/pkg/cmd (run, expose, drain), release 1.32.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.meta.objects import at
from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.notebook.kubectl.generating import typed
from simkit.notebook.kubectl.selection import named, place_of, selected, title
from simkit.notebook.kubectl.writing import query_of, said

_MERGE: Final = "application/merge-patch+json"


def run(client: Client, args: Namespace) -> str:
    """A pod with one container: ``run NAME --image=IMAGE [--port] [--env] [--labels] [-- ARGUMENTS]``."""
    if not args.words:
        raise KubectlError("error: NAME is required for run")
    if not args.image:
        raise KubectlError('error: required flag(s) "image" not set')
    name, *words = args.words
    container: dict[str, Any] = {"name": name, "image": args.image[0], "resources": {}}
    given = [*words, *args.after]
    if given:
        container["command" if args.command else "args"] = given
    if args.env:
        container["env"] = [dict(zip(("name", "value"), each.split("=", 1))) for each in args.env]
    if args.port:
        container["ports"] = [{"containerPort": _number(args.port, "--port")}]
    labels = dict(each.split("=", 1) for each in args.labels.split(",")) if args.labels else {"run": name}
    restart = args.restart or "Always"
    spec = {"containers": [container], "dnsPolicy": "ClusterFirst", "restartPolicy": restart}
    obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}
    return created(client, args, [obj], "kubectl-run")


def _number(text: str, flag: str) -> int:
    if not text.isdecimal():
        raise KubectlError(f'error: invalid argument "{text}" for "{flag}" flag: it is not a number')
    return int(text)


def expose(client: Client, args: Namespace) -> str:
    """A service for a deployment, replica set, pod or service: ``expose deployment NAME --port=80``."""
    made = []
    for one in selected(client, args.words):
        if not one.name:
            raise KubectlError("error: resource(s) were provided, but no name was specified")
        live = client.ask("GET", client.path(one.resource, client.namespace, one.name)).object
        ports = [_port(each, args) for each in args.port.split(",")] if args.port else _own_ports(live)
        if not ports:
            raise KubectlError("error: couldn't find port via --port flag or introspection")
        spec: dict[str, Any] = {"ports": ports, "selector": _selector(live)}
        spec |= {"type": args.type} if args.type else {}
        data: dict[str, Any] = {"name": args.name or one.name}
        labels = live["metadata"].get("labels")
        data |= {"labels": labels} if labels else {}
        made.append({"apiVersion": "v1", "kind": "Service", "metadata": data, "spec": spec})
    return created(client, args, made, "kubectl-expose", "exposed")


def _port(text: str, args: Namespace) -> dict[str, Any]:
    number, target = _number(text, "--port"), args.target_port or text
    shown: int | str = int(target) if target.isdecimal() else target
    return {"port": number, "protocol": args.protocol or "TCP", "targetPort": shown}


def _own_ports(live: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The ports of the containers, or of the service, named if there are several."""
    found = [
        (each["containerPort"], each.get("protocol", "TCP"))
        for path in (("spec", "containers"), ("spec", "template", "spec", "containers"))
        for container in at(live, *path) or ()
        for each in container.get("ports") or ()
    ]
    if live["kind"] == "Service":
        found = [(each["port"], each.get("protocol", "TCP")) for each in live["spec"].get("ports") or ()]
    return [
        {
            **({"name": f"port-{place}"} if len(found) > 1 else {}),
            "port": number,
            "protocol": protocol,
            "targetPort": number,
        }
        for place, (number, protocol) in enumerate(found, start=1)
    ]


def _selector(live: Mapping[str, Any]) -> Mapping[str, str]:
    """The labels by which a service finds the pods of an object."""
    kind = live["kind"]
    if kind == "Pod":
        labels = live["metadata"].get("labels")
        if not labels:
            raise KubectlError(
                "error: couldn't retrieve selectors via --selector flag or introspection: the pod has no "
                "labels and cannot be exposed"
            )
        return dict(labels)
    if kind in ("Service", "ReplicationController"):
        return dict(live["spec"].get("selector") or {})
    if kind in ("Deployment", "ReplicaSet"):
        selector = live["spec"]["selector"]
        if selector.get("matchExpressions"):
            raise KubectlError(
                "error: couldn't retrieve selectors via --selector flag or introspection: couldn't "
                'convert expressions - "matchExpressions" to map-based selector format'
            )
        return dict(selector.get("matchLabels") or {})
    raise KubectlError(f"error: cannot expose a {kind}")


def created(
    client: Client, args: Namespace, objects: Sequence[dict[str, Any]], manager: str, word: str = "created"
) -> str:
    done = []
    for obj in objects:
        resource, namespace, name = place_of(client, obj)
        if args.dry_run == "client":
            done.append((title(resource, name), word, typed(obj)))
            continue
        query = query_of(args, fieldManager=manager)
        answer = client.ask("POST", client.path(resource, namespace), obj, query=query).object
        done.append((title(resource, name), word, answer))
    return said(args, done)


def cordon(client: Client, args: Namespace, *, closed: bool = True) -> str:
    """Nodes that take no more pods."""
    word, lines = ("cordoned", "") if closed else ("uncordoned", "")
    if not args.words and not args.selector:
        raise KubectlError(f"error: USAGE: {'cordon' if closed else 'uncordon'} NODE [flags]")
    args.words = ["nodes", *args.words]
    for resource, _, name in named(client, args):
        path = client.path(resource, "", name)
        is_closed = bool(at(client.ask("GET", path).object, "spec", "unschedulable"))
        if is_closed is closed:
            lines += f"{title(resource, name)} already {word}\n"
            continue
        body = {"spec": {"unschedulable": True if closed else None}}
        client.ask("PATCH", path, body, query=query_of(args), media=_MERGE)
        lines += f"{title(resource, name)} {word}\n"
    return lines


def uncordon(client: Client, args: Namespace) -> str:
    """Nodes that take pods again."""
    return cordon(client, args, closed=False)
