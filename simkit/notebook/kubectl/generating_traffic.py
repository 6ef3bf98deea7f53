"""Services and ingresses that ``create`` makes of its flags.

Upstream: create_service.go and create_ingress.go of k8s.io/kubectl/pkg/cmd/create, release 1.32.
"""

from __future__ import annotations

import re
from argparse import Namespace
from typing import Any, Final

from simkit.meta.domain import api_group
from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.notebook.kubectl.heads import head

_RULE: Final = re.compile(
    r"(?P<host>[\w\*\-\.]*)/(?P<path>[^=\s]*)=(?P<service>[\w\-]+):(?P<port>[\w\-]+)"
    r"(?P<tls>,tls(?:=(?P<secret>[\w\-]*))?)?"
)
_TYPES: Final = {
    "clusterip": "ClusterIP",
    "nodeport": "NodePort",
    "loadbalancer": "LoadBalancer",
    "externalname": "ExternalName",
}


def service(client: Client, kind: str, name: str, args: Namespace) -> dict[str, Any]:
    """A service for the pods with the label ``app=NAME``."""
    labels, kind = {"app": name}, _TYPES[args.part]
    spec: dict[str, Any] = {"type": kind, "selector": labels}
    ports = [_port(each) for part in args.tcp for each in part.split(",")]
    if kind == "ExternalName":
        if not args.external_name:
            raise KubectlError('error: required flag(s) "external-name" not set')
        spec["externalName"] = args.external_name
    elif not ports and args.clusterip != "None":
        raise KubectlError("error: at least one tcp port specifier must be provided")
    if args.clusterip:
        spec["clusterIP"] = args.clusterip
    if args.node_port and ports:
        ports[0]["nodePort"] = int(args.node_port)
    return {**head("v1", "Service", name, labels=labels), "spec": {**spec, **({"ports": ports} if ports else {})}}


def _port(text: str) -> dict[str, Any]:
    """``port:target``, or one number for both."""
    number, colon, target = text.partition(":")
    for each in (number, *([target] if colon and not target.isidentifier() else [])):
        if not each.isdecimal():
            raise KubectlError(f'error: strconv.ParseUint: parsing "{each}": invalid syntax')
    shown: int | str = int(target or number) if (target or number).isdecimal() else target
    return {"name": text.replace(":", "-"), "port": int(number), "protocol": "TCP", "targetPort": shown}


def ingress(client: Client, kind: str, name: str, args: Namespace) -> dict[str, Any]:
    """An ingress with the paths of ``--rule=host/path=service:port[,tls[=secret]]``."""
    if not args.rule and not args.default_backend:
        raise KubectlError(
            "error: not enough information provided: every ingress has to either specify a default-backend (which "
            "catches all traffic) or a list of rules (which catch specific paths)"
        )
    spec: dict[str, Any] = {"ingressClassName": vars(args)["class"]} if vars(args)["class"] else {}
    if args.default_backend:
        spec["defaultBackend"] = _backend(*args.default_backend.split(":", 1))
    hosts: dict[str, list[dict[str, Any]]] = {}
    secrets: dict[str, list[str]] = {}
    for text in args.rule:
        found = _RULE.fullmatch(text)
        if found is None:
            told = f"rule {text} is invalid and should be in format host/path=svcname:svcport[,tls[=secret]]"
            raise KubectlError(f"error: {told}")
        path = f"/{found['path']}"
        where = {"path": path.removesuffix("*"), "pathType": "Prefix" if path.endswith("*") else "Exact"}
        hosts.setdefault(found["host"], []).append({**where, "backend": _backend(found["service"], found["port"])})
        if found["tls"]:
            secrets.setdefault(found["secret"] or "", []).extend([found["host"]] if found["host"] else [])
    spec |= {"rules": [_rule(host, paths) for host, paths in hosts.items()]} if hosts else {}
    spec |= {"tls": [_tls(secret, names) for secret, names in secrets.items()]} if secrets else {}
    notes = dict(each.split("=", 1) for each in args.annotation if "=" in each)
    made = head(f"{api_group('networking')}/v1", "Ingress", name, **({"annotations": notes} if notes else {}))
    return {**made, "spec": spec}


def _backend(name: str, port: str) -> dict[str, Any]:
    number: dict[str, Any] = {"number": int(port)} if port.isdecimal() else {"name": port}
    return {"service": {"name": name, "port": number}}


def _rule(host: str, paths: list[dict[str, Any]]) -> dict[str, Any]:
    return {**({"host": host} if host else {}), "http": {"paths": paths}}


def _tls(secret: str, hosts: list[str]) -> dict[str, Any]:
    return {**({"hosts": hosts} if hosts else {}), **({"secretName": secret} if secret else {})}
