"""Programs in containers find services by name and reach what listens, as in a cluster with its own name server."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from tests.simulation.worlds import deployment, execute, phase, pod, simulated


def service(name: str, **spec: Any) -> dict[str, Any]:
    """A service for pods with the label of its name."""
    ports = [{"name": "http", "port": 80, "targetPort": 80}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": name}, "ports": ports, **spec},
    }


@pytest.fixture
def cluster() -> Cluster:
    """A web server behind a service, and a shell."""
    made = simulated(1)
    made.apply(
        [deployment("web", 2, image="nginx"), service("web"), pod("shell", image="busybox", command=["sleep", "1d"])]
    )
    made.settle()
    return made


def said(cluster: Cluster, *command: str) -> tuple[int, str]:
    """The exit code and the output of a command in the shell."""
    return execute(cluster, "shell", *command)


@pytest.mark.parametrize(
    "name",
    ["web", "web.default", "web.default.svc", "web.default.svc.cluster.local", "WEB", "web.default.svc.cluster.local."],
)
def test_services_are_found_by_all_forms_of_their_name(cluster: Cluster, name: str) -> None:
    """A short name is completed by the search domains of the pod's namespace."""
    address = cluster.get("service", "web")["spec"]["clusterIP"]
    code, output = said(cluster, "nslookup", name)
    assert (code, f"Name:\tweb.default.svc.cluster.local\nAddress: {address}\n" in output) == (0, True)


def test_names_that_nobody_has(cluster: Cluster) -> None:
    """Each full name that was tried is told; other namespaces are not searched."""
    code, output = said(cluster, "nslookup", "db")
    assert code == 1
    assert "** server can't find db.default.svc.cluster.local: NXDOMAIN" in output
    assert said(cluster, "nslookup", "web.other")[0] == 1


def test_pages_are_fetched_through_a_service(cluster: Cluster) -> None:
    """wget and curl show the page of the web server, or keep it as a file."""
    assert "Welcome to nginx!" in said(cluster, "wget", "-qO-", "http://web")[1]
    assert "Welcome to nginx!" in said(cluster, "curl", "-s", "web.default:80/index.html")[1]
    assert said(cluster, "sh", "-c", "wget -q web && grep -c Welcome index.html") == (0, "1\n")
    assert said(cluster, "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}\\n", "http://web/none") == (0, "404\n")
    assert said(cluster, "curl", "-fsS", "http://web/none") == (
        22,
        "curl: (22) The requested URL returned error: 404\n",
    )
    assert said(cluster, "wget", "-q", "http://web/none") == (
        1,
        "wget: server returned error: HTTP/1.1 404 Not Found\n",
    )
    assert said(cluster, "wget", "--spider", "-q", "web") == (0, "")
    assert said(cluster, "curl", "-sI", "web")[1].startswith("HTTP/1.1 200 OK\r\nServer: nginx\r\n")


def test_connections_that_do_not_come_about(cluster: Cluster) -> None:
    """Unknown names, ports on which nothing listens, services without endpoints, and ports that a service does not have."""
    cluster.apply([service("idle")])
    cluster.settle()
    idle = cluster.get("service", "idle")["spec"]["clusterIP"]
    assert said(cluster, "wget", "-qO-", "http://db") == (1, "wget: bad address 'db'\n")
    assert said(cluster, "curl", "-s", "http://db") == (6, "")
    assert said(cluster, "wget", "-qO-", "idle") == (
        1,
        f"wget: can't connect to remote host ({idle}): Connection refused\n",
    )
    assert said(cluster, "nc", "-z", "idle", "80")[0] == 1
    assert said(cluster, "wget", "-q", "-T", "3", "web:81") == (1, "wget: download timed out\n")
    assert said(cluster, "curl", "-m", "2", "web:81") == (
        28,
        "curl: (28) Connection timed out after 2000 milliseconds\n",
    )
    assert said(cluster, "curl", "-k", "https://web")[0] == 2  # TLS is not spoken
    assert said(cluster, "curl", "not a url")[0] == 3


def test_pods_are_reached_by_address(cluster: Cluster) -> None:
    """The address of a pod leads to it, and the loopback address to the pod itself."""
    address = next(each for each in cluster.list("pods") if each["metadata"]["name"].startswith("web"))["status"][
        "podIP"
    ]
    assert said(cluster, "nc", "-zv", address, "80") == (0, f"{address} ({address}:80) open\n")
    assert said(cluster, "nc", "-z", address, "81")[0] == 1


def test_headless_services_name_their_pods() -> None:
    """The name of a headless service has the addresses of its ready pods, and each pod has a name below it."""
    cluster = simulated(1)
    labels = {"matchLabels": {"app": "db"}}
    template = pod("db", labels={"app": "db"}, image="nginx")
    spec = {"serviceName": "db", "replicas": 2, "selector": labels, "template": template}
    stateful = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": spec}
    shell = pod("shell", image="busybox", command=["sleep", "1d"])
    cluster.apply([service("db", clusterIP="None"), stateful, shell])
    cluster.settle()
    addresses = {cluster.get("pod", f"db-{number}")["status"]["podIP"] for number in range(2)}
    told = said(cluster, "nslookup", "db")[1].splitlines()
    assert {line.removeprefix("Address: ") for line in told if line.startswith("Address: ")} == addresses
    one = cluster.get("pod", "db-1")["status"]["podIP"]
    assert said(cluster, "nslookup", "db-1.db")[1].endswith(f"Address: {one}\n\n")
    assert "Welcome" in said(cluster, "wget", "-qO-", "db-1.db.default.svc.cluster.local")[1]
    assert said(cluster, "nslookup", "db-2.db")[0] == 1


def test_an_init_container_waits_for_a_service() -> None:
    """The usual loop ends when the service is there, and only then the pod runs."""
    cluster = simulated(1)
    waiting = {
        "name": "wait",
        "image": "busybox",
        "command": ["sh", "-c", "until nslookup db; do echo waiting; sleep 2; done"],
    }
    cluster.create(pod("app", initContainers=[waiting]))
    cluster.settle()
    cluster.advance(10)
    assert phase(cluster, "app") == "Pending"
    cluster.create(service("db"))
    cluster.advance(10)
    assert phase(cluster, "app") == "Running"


def test_names_of_other_dns_policies(cluster: Cluster) -> None:
    """Pods that ask the node's name server do not know the cluster's names; aliases of hosts are known to all."""
    aliases = [{"ip": "10.1.2.3", "hostnames": ["legacy"]}]
    cluster.create(pod("plain", image="busybox", command=["sleep", "1d"], dnsPolicy="Default", hostAliases=aliases))
    cluster.settle()
    assert execute(cluster, "plain", "nslookup", "web.default.svc")[0] == 1
    assert execute(cluster, "plain", "nslookup", "legacy")[1].endswith("Address: 10.1.2.3\n\n")


def test_external_names_are_followed(cluster: Cluster) -> None:
    """An external name that is one of the cluster leads on, also when it leads in a circle."""
    cluster.apply(
        [
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": name},
                "spec": {"type": "ExternalName", "externalName": to},
            }
            for name, to in (("alias", "web.default.svc.cluster.local"), ("round", "round.default.svc.cluster.local"))
        ]
    )
    assert "Welcome" in said(cluster, "wget", "-qO-", "alias")[1]
    assert said(cluster, "nslookup", "round")[0] == 1


def test_slices_that_hold_names(cluster: Cluster) -> None:
    """A name in a slice of a headless service is no address: nothing is found, and nothing ends the container."""
    cluster.create(service("far", clusterIP="None", selector=None))
    cluster.create(
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": "far", "labels": {"kubernetes.io/service-name": "far"}},
            "addressType": "FQDN",
            "endpoints": [{"addresses": ["far.example.com"]}],
        }
    )
    assert said(cluster, "wget", "-qO-", "far") == (1, "wget: bad address 'far'\n")
