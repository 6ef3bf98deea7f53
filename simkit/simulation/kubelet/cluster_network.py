"""The network of the simulated cluster: requests of kubelets, names, and the ports of pods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from ipaddress import ip_address
from typing import Any, Final

from simkit.client.controller import Client, Perform
from simkit.client.lister import uid_of
from simkit.client.requests import path_of
from simkit.client.resources import PODS, SERVICE_ACCOUNTS, SERVICES, SLICES
from simkit.meta.domain import api_group, label
from simkit.meta.errors import StatusError
from simkit.meta.identity import AUTHENTICATED, MASTERS, Identity
from simkit.meta.ip_addresses import is_address
from simkit.meta.message import Request
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, name_of, namespace_of
from simkit.seams import PortHandler
from simkit.simulation.shell.files import FileError, Files
from simkit.simulation.shell.machine import CLUSTER_DOMAIN, SERVICE_DOMAIN, Refused, Unreachable

# Requests of kubelets for the programs of their containers

_KUBELETS: Final = Identity("system:simulated-kubelets", (MASTERS, AUTHENTICATED))
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
    path = path_of(SERVICE_ACCOUNTS, namespace_of(pod), account, "token")
    response = perform(Request.of("POST", path, wanted), _KUBELETS)
    return str(at(response.object, "status", "token")).encode() if response.succeeded else b""


# The network of a cluster as one pod sees it: names of services and pods, and connections to what listens.
# All pods reach each other: network policies are not enforced, as by a network plugin that does not know them.
# Upstream: the DNS specification of Kubernetes 1.1.0 (names), and pkg/proxy, release 1.30 (services without endpoints
# refuse connections; a connection to a port that a service does not have ends with its time limit).

_SERVICE_NAME: Final = label("service-name")
_FEW_DOTS: Final = 5
"""Names with fewer dots are looked for in the search domains first."""
_MOST_ALIASES: Final = 8


class ClusterNetwork:
    """The network of a pod.

    Parameters
    ----------
    perform
        Sends requests for services, endpoints and pods.
    pod
        The pod.
    files
        Its files: names in ``/etc/hosts`` come first.
    listener
        The listener on a port of a pod; raises StatusError where nothing listens.
    """

    def __init__(
        self, perform: Perform, pod: Object, files: Files, listener: Callable[[Object, int], PortHandler]
    ) -> None:
        self._perform, self._pod, self._files, self._listener = perform, pod, files, listener

    def addresses(self, name: str) -> tuple[str, Sequence[str]]:
        """The full form of a name, and its addresses; none for a name that nobody knows."""
        if is_address(name):
            return name, (name,)
        hosts = self._hosts(name)
        if hosts:
            return name, hosts
        for full in self.searched(name):
            found = self._records(full, _MOST_ALIASES)
            if found:
                return full, found
        return name, ()

    def searched(self, name: str) -> Sequence[str]:
        """The full names that are tried for a name, in order."""
        bare = name.rstrip(".").lower()
        if name.endswith(".") or not _asks_cluster(self._pod):
            return (bare,)
        domains = (f"{namespace_of(self._pod)}.{SERVICE_DOMAIN}", SERVICE_DOMAIN, CLUSTER_DOMAIN)
        completed = [f"{bare}.{domain}" for domain in domains]
        return (*completed, bare) if bare.count(".") < _FEW_DOTS else (bare, *completed)

    def own_addresses(self) -> Sequence[str]:
        """The addresses of the pod."""
        name = Key(PODS, namespace_of(self._pod), name_of(self._pod))
        return _pod_addresses(read(self._perform, name) or self._pod)

    def connect(self, address: str, port: int) -> PortHandler:
        """The listener at an address. Raises Refused, or Unreachable."""
        if ip_address(address).is_loopback:
            return self._reached(self._pod, port)
        service = next(
            (each for each in listed(self._perform, SERVICES, "") if address in _service_addresses(each)), None
        )
        if service is not None:
            return self._through(service, port)
        pod = next((each for each in listed(self._perform, PODS, "") if address in _pod_addresses(each)), None)
        if pod is None:
            raise Unreachable(address)
        return self._reached(pod, port)

    def _hosts(self, name: str) -> Sequence[str]:
        """The addresses of a name in ``/etc/hosts``."""
        try:
            lines = self._files.read("/etc/hosts").decode("utf-8", "replace").splitlines()
        except FileError:
            return ()
        words = [line.partition("#")[0].split() for line in lines]
        return [line[0] for line in words if name in line[1:] and is_address(line[0])][:1]

    def _records(self, full: str, aliases: int) -> Sequence[str]:
        """The addresses of a full name under the cluster's domain."""
        rest = full.removesuffix(f".{SERVICE_DOMAIN}")
        parts = rest.split(".")
        if rest == full or not 2 <= len(parts) <= 3:
            return ()
        *host, name, namespace = parts
        service = read(self._perform, Key(SERVICES, namespace, name))
        if service is None:
            return ()
        if at(service, "spec", "type") == "ExternalName":
            target = str(at(service, "spec", "externalName") or "")
            return self._records(target.rstrip("."), aliases - 1) if aliases and not host else ()
        own = _service_addresses(service)
        if own:
            return () if host else own
        unready = bool(at(service, "spec", "publishNotReadyAddresses"))
        return [
            address
            for endpoint, _ in self._endpoints(service, unready=unready)
            if not host or endpoint.get("hostname") == host[0]
            for address in endpoint.get("addresses") or ()
            if is_address(address)  # slices may hold names
        ]

    def _endpoints(self, service: Object, *, unready: bool = False) -> Iterator[tuple[Mapping[str, Any], Object]]:
        """The ready endpoints of a service, each with its slice."""
        for each in listed(self._perform, SLICES, namespace_of(service)):
            if (at(each, "metadata", "labels") or {}).get(_SERVICE_NAME) != name_of(service):
                continue
            for endpoint in each.get("endpoints") or ():
                if unready or at(endpoint, "conditions", "ready") is not False:
                    yield endpoint, each

    def _through(self, service: Object, port: int) -> PortHandler:
        """The listener behind a port of a service: that of its first ready endpoint."""
        wanted = next((each for each in at(service, "spec", "ports") or () if each.get("port") == port), None)
        if wanted is None:
            raise Unreachable(name_of(service))
        for endpoint, piece in self._endpoints(service):
            target = endpoint.get("targetRef") or {}
            pod = read(self._perform, Key(PODS, target.get("namespace") or "", target.get("name") or ""))
            number = _number(piece, str(wanted.get("name") or ""))
            if pod is not None and target.get("kind") == "Pod" and number:
                return self._reached(pod, number)
        raise Refused(name_of(service))

    def _reached(self, pod: Object, port: int) -> PortHandler:
        try:
            return self._listener(pod, port)
        except StatusError:
            raise Refused(name_of(pod)) from None


def _asks_cluster(pod: Object) -> bool:
    """True if the names of the cluster are known to a pod."""
    policy = at(pod, "spec", "dnsPolicy") or "ClusterFirst"
    on_host = bool(at(pod, "spec", "hostNetwork"))
    return policy == "ClusterFirstWithHostNet" or (policy == "ClusterFirst" and not on_host)


def _service_addresses(service: Object) -> Sequence[str]:
    spec = service.get("spec") or {}
    return [each for each in spec.get("clusterIPs") or (spec.get("clusterIP"),) if each and each != "None"]


def _pod_addresses(pod: Object) -> Sequence[str]:
    if at(pod, "status", "phase") in ("Succeeded", "Failed"):
        return ()
    return [str(each.get("ip")) for each in at(pod, "status", "podIPs") or ()]


def _number(piece: Object, name: str) -> int:
    """The number of a port of a slice by its name; 0 where the slice does not have it."""
    return next(
        (each["port"] for each in piece.get("ports") or () if (each.get("name") or "") == name and each.get("port")), 0
    )
