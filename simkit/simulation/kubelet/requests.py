"""Requests of kubelets for the programs of their containers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.engine.controllers.client_requests import path_of
from simkit.engine.controllers.controller_manager import Client, Perform
from simkit.engine.controllers.lister import uid_of
from simkit.engine.controllers.resources import PODS
from simkit.meta.domain import api_group
from simkit.meta.identity import AUTHENTICATED, MASTERS, Identity
from simkit.meta.message import Request
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, name_of, namespace_of

_KUBELETS: Final = Identity("system:simulated-kubelets", (MASTERS, AUTHENTICATED))
_ACCOUNTS: Final = GroupResource("", "serviceaccounts")
_HOUR: Final = 3600


def read(perform: Perform, key: Key) -> Object | None:
    """The object of a key; None if it is not there."""
    response = perform(Request.of("GET", path_of(key.resource, key.namespace, key.name)), _KUBELETS)
    return response.object if response.succeeded else None


def listed(perform: Perform, resource: GroupResource, namespace: str) -> Sequence[Object]:
    """The objects of a namespace; none if they cannot be listed."""
    response = perform(Request.of("GET", path_of(resource, namespace)), _KUBELETS)
    return response.object.get("items") or () if response.succeeded else ()


def remove_pod(client: Client, pod: Object) -> None:
    """Have a pod removed whose containers have stopped."""
    options = {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": uid_of(pod)},
    }
    client.perform(Request.of("DELETE", path_of(PODS, namespace_of(pod), name_of(pod)), options))


def service_account_token(perform: Perform, pod: Object, source: Mapping[str, Any]) -> bytes:
    """A token of a pod's service account, bound to the pod; empty where none is issued."""
    audience = source.get("audience")
    wanted = {
        "apiVersion": f"{api_group('authentication')}/v1",
        "kind": "TokenRequest",
        "spec": {
            "audiences": [audience] if audience else [],
            "expirationSeconds": source.get("expirationSeconds") or _HOUR,
            "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": name_of(pod), "uid": uid_of(pod)},
        },
    }
    account = at(pod, "spec", "serviceAccountName") or "default"
    path = path_of(_ACCOUNTS, namespace_of(pod), account, "token")
    response = perform(Request.of("POST", path, wanted), _KUBELETS)
    return str(at(response.object, "status", "token")).encode() if response.succeeded else b""
