"""The scheduler asks extenders over HTTP: filters, scores, bindings and preemptions of a service beside it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson
import pytest

from simkit.cluster.cluster import Cluster
from simkit.engine.egress.call import MOST
from simkit.meta.message import Request
from tests.engine.egress.service import running
from tests.simulation.test_scheduler_config import configuration
from tests.simulation.worlds import messages, node_of, phase, pod, simulated

Answer = Callable[[str, Any], Any]
"""From a verb and the question to the answer; bytes are sent as they are, a number is a status."""


class Service:
    """A running extender: its address, and the questions that it was asked."""

    def __init__(self, url: str) -> None:
        self.url, self.asked = url, list[tuple[str, Any]]()

    def extender(self, *verbs: str, **fields: Any) -> dict[str, Any]:
        """The extender in a configuration, with some verbs."""
        weight = {"weight": 1} if "prioritize" in verbs else {}
        return {"urlPrefix": self.url, **{f"{verb}Verb": verb for verb in verbs}, **weight, **fields}


@contextmanager
def extending(answer: Answer) -> Iterator[Service]:
    """An extender on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            question = orjson.loads(self.rfile.read(int(self.headers["content-length"])))
            verb = self.path.rpartition("/")[2]
            service.asked.append((verb, question))
            found = answer(verb, question)
            self.send_response(found if isinstance(found, int) else 200)
            content = found if isinstance(found, bytes) else orjson.dumps(found)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service = Service(f"http://127.0.0.1:{server.server_port}/scheduler/")
    with running(server):
        yield service


def extended(cluster: Cluster, *extenders: dict[str, Any]) -> Cluster:
    """The cluster with extenders."""
    cluster.configure_scheduler(configuration(extenders=list(extenders)))
    return cluster


@pytest.mark.parametrize("names_only", [True, False])
def test_an_extender_filters(names_only: bool) -> None:
    """It is sent the nodes that fit, or their names, and says which of them do for it, and why others do not."""

    def answer(verb: str, question: Any) -> Any:
        if names_only:
            return {"nodenames": ["node-1"], "failedNodes": {"node-0": "no licence", "node-2": "no licence"}}
        items = [each for each in question["Nodes"]["items"] if each["metadata"]["name"] == "node-1"]
        return {"Nodes": {"items": items}}

    with extending(answer) as service:
        cluster = extended(simulated(3), service.extender("filter", nodeCacheCapable=names_only))
        cluster.create(pod("one"))
        cluster.settle()
    assert node_of(cluster, "one") == "node-1"
    question = service.asked[0][1]
    assert question["Pod"]["metadata"]["name"] == "one"
    assert "kind" not in question["Pod"]
    assert question["Nodes" if names_only else "NodeNames"] is None


def test_reasons_of_an_extender_are_told() -> None:
    """They count beside those of the scheduler's own filters; unresolvable ones keep it from preempting."""
    refused = {"NodeNames": [], "FailedNodes": {"node-0": "busy"}, "FailedAndUnresolvableNodes": {"node-1": "broken"}}
    with extending(lambda *_: refused) as service:
        cluster = extended(simulated(2), service.extender("filter", nodeCacheCapable=True))
        cluster.create(pod("one"))
        cluster.settle()
    assert messages(cluster, "FailedScheduling") == [
        "0/2 nodes are available: 1 broken, 1 busy. preemption: 0/2 nodes are available: 1 No preemption victims "
        "found for incoming pod, 1 Preemption is not helpful for scheduling."
    ]


def test_an_extender_scores() -> None:
    """Its scores, times its weight, come on top: ten of them weigh as much as a hundred of the scheduler's own."""
    scores = [{"Host": "node-2", "Score": 10}]
    with extending(lambda *_: scores) as service:
        cluster = extended(simulated(3), service.extender("prioritize", weight=5))
        for number in range(5):
            cluster.create(pod(f"p{number}", requests={"cpu": "1"}))
            cluster.settle()
    assert {node_of(cluster, f"p{number}") for number in range(5)} == {"node-2"}


def test_an_extender_binds() -> None:
    """It writes the binding itself, which the scheduler does not do again; what it refuses is tried later."""
    cluster, refusals = simulated(1), ["no room"]

    def answer(verb: str, question: Any) -> Any:
        if refusals:
            return {"Error": refusals.pop()}
        target = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": question["PodName"]}}
        path = f"/api/v1/namespaces/{question['PodNamespace']}/pods/{question['PodName']}/binding"
        binding = {**target, "target": {"kind": "Node", "name": question["Node"]}}
        return {} if cluster.perform(Request.of("POST", path, binding)).succeeded else {"Error": "refused"}

    with extending(answer) as service:
        extended(cluster, service.extender("bind"))
        cluster.create(pod("one"))
        cluster.settle()
        assert messages(cluster, "FailedScheduling") == ["no room"]
        condition = cluster.get("pod", "one")["status"]["conditions"][0]
        assert (condition["reason"], condition["message"]) == ("SchedulerError", "no room")
        cluster.advance(seconds=10)
    assert phase(cluster, "one") == "Running"
    assert messages(cluster, "Scheduled") == ["Successfully assigned default/one to node-0"]


def test_an_extender_chooses_victims() -> None:
    """Of the nodes that would be cleared it keeps one; a victim that is not there is an error."""
    cluster, keep = simulated(2), ["node-1"]

    def answer(verb: str, question: Any) -> Any:
        found = question["NodeNameToVictims"]
        return {
            "NodeNameToMetaVictims": {
                name: {"Pods": [{"UID": each["metadata"]["uid"]} for each in found[name]["Pods"]]} for name in keep
            }
        }

    for name in ("low-0", "low-1"):
        cluster.create(pod(name, requests={"cpu": "6"}))
    cluster.settle()
    cluster.create(
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9}
    )
    with extending(answer) as service:
        extended(cluster, service.extender("preempt"))
        cluster.create(pod("high", requests={"cpu": "6"}, priorityClassName="high"))
        cluster.settle()
        cluster.advance(seconds=60)
    assert node_of(cluster, "high") == "node-1"
    assert set(service.asked[0][1]["NodeNameToVictims"]) == {"node-0", "node-1"}
    assert len(messages(cluster, "Preempted")) == 1


@pytest.mark.parametrize("ignorable", [True, False])
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (500, "failed filter with extender at URL {url}filter, code 500"),
        (b"hello", "the answer is no JSON"),
        ({"NodeNames": ["x"]}, 'extender "{url}" claims a filtered node "x" which is not found in the input node list'),
        ({"NodeNames": 3}, "json: cannot unmarshal number into Go value of type []v1.HostPriority"),
        ({"Error": "on strike"}, "on strike"),
        (b" " * (MOST + 1), 'Post "{url}filter": the answer is larger than 16777216 bytes'),
    ],
)
def test_an_extender_that_fails(answer: Any, told: str, ignorable: bool) -> None:
    """Its failure is an error of the scheduler, which tries again later, unless it is ignorable."""
    with extending(lambda *_: answer) as service:
        cluster = extended(simulated(1), service.extender("filter", nodeCacheCapable=True, ignorable=ignorable))
        cluster.create(pod("one"))
        cluster.settle()
    assert phase(cluster, "one") == ("Running" if ignorable else "Pending")
    assert messages(cluster, "FailedScheduling") == ([] if ignorable else [told.format(url=service.url)])


def test_an_extender_that_takes_too_long() -> None:
    """The time of a whole call is bounded."""
    done = threading.Event()

    def answer(verb: str, question: Any) -> Any:
        done.wait(30)
        return {}

    with extending(answer) as service:
        cluster = extended(simulated(1), service.extender("filter", httpTimeout="50ms"))
        cluster.create(pod("one"))
        cluster.settle()
        done.set()
    assert messages(cluster, "FailedScheduling") == [f'Post "{service.url}filter": context deadline exceeded']


def test_an_extender_is_asked_about_its_resources() -> None:
    """With managed resources it concerns pods that ask for one, which the scheduler need not find on nodes itself."""
    resource = {"name": "example.com/licence", "ignoredByScheduler": True}
    with extending(lambda verb, question: {"NodeNames": question["NodeNames"][:1]}) as service:
        extender = service.extender("filter", nodeCacheCapable=True, managedResources=[resource])
        cluster = extended(simulated(2), extender)
        cluster.create(pod("plain"))
        amounts = {"example.com/licence": "1"}
        cluster.create(pod("licensed", container={"resources": {"requests": amounts, "limits": amounts}}))
        cluster.settle()
    assert phase(cluster, "plain") == phase(cluster, "licensed") == "Running"
    assert [question["Pod"]["metadata"]["name"] for _, question in service.asked] == ["licensed"]


def test_forks_call_nobody() -> None:
    """In a fork an extender does not decide; the call that was not made is noted."""
    with extending(lambda *_: {"NodeNames": []}) as service:
        cluster = extended(simulated(1), service.extender("filter", nodeCacheCapable=True))
        fork = cluster.fork()
        fork.create(pod("one"))
        fork.settle()
    assert phase(fork, "one") == "Running"
    assert service.asked == []
    assert [each.kind for each in fork.egress.uncalled] == ["extender"]
