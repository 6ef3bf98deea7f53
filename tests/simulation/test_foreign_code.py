"""Every call of functions that others provide: an error, an exit and a wrong value are told and never a success."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Generator
from typing import Any

import pytest

import simkit
from simkit.cluster.cluster import Cluster
from simkit.engine.controllers.controller_manager import ControllerManager
from simkit.meta import foreign
from simkit.meta.errors import StatusError
from simkit.meta.message import Request
from simkit.simulation.kubelet.process import Container, Output
from tests.simulation.worlds import container, execute, messages, phase, pod, simulated


class Stop(BaseException):
    """An error that is no Exception."""


def raises(*_: Any) -> Any:
    """Fail."""
    raise ValueError("a fault of the function")


def exits(*_: Any) -> Any:
    """End the interpreter, as a script does that is done: also with the code of a success."""
    sys.exit(0)


def stops(*_: Any) -> Any:
    raise Stop("a fault of the function")


def is_cancelled(*_: Any) -> Any:
    raise asyncio.CancelledError


async def waits(*_: Any) -> Any:
    """Be asynchronous, which nobody awaits."""


FAILING: tuple[Callable[..., Any], ...] = (raises, exits, stops, is_cancelled, waits)


def gives(value: Any) -> Callable[..., Any]:
    """A function that gives a value."""

    def given(*_: Any) -> Any:
        return value

    shown = repr(value) if value is None or isinstance(value, str | bytes | int | float) else type(value).__name__
    given.__name__ = f"gives_{shown}"
    return given


def yields(*values: Any, code: Any = None) -> Callable[..., Any]:
    """A program that yields values, and returns a code."""

    def program(*_: Any) -> Generator[Any, Any, Any]:
        yield from values
        return code

    program.__name__ = f"yields_{values!r}_{code!r}"
    return program


def prints_then(function: Callable[..., Any]) -> Callable[..., Any]:
    """A program that prints a line before it fails."""

    def program(*given: Any) -> Generator[Any, Any, Any]:
        yield "before"
        return function(*given)

    program.__name__ = f"prints_then_{function.__name__}"
    return program


itself: list[Any] = []
itself.append(itself)
WRONG_CODES = (True, False, "0", "1", 1.5, [1], {"code": 0}, -1, 256, b"0", ValueError("no"))
WRONG_STEPS = (None, True, [1], b"line", float("nan"), float("inf"), {"a": 1}, Output(5), Output("x", 3))  # type: ignore[arg-type]
PROGRAMS = (
    *FAILING,
    *map(prints_then, FAILING),
    *map(gives, WRONG_CODES),
    *(yields("before", code=code) for code in WRONG_CODES),
    *(yields("before", step) for step in WRONG_STEPS),
)
NOT_JSON = ({1: 2}, {"a", "b"}, 2**70, "\ud800", object(), itself)
ANSWERS_OF_PORTS = (*FAILING, *map(gives, (None, "HTTP/1.1 200 OK\r\n\r\n", 200, True, [b"x"])))
REVIEWS = (
    *FAILING,
    *map(
        gives,
        (
            b"no",
            (False, "no"),
            {"allowed": "false"},
            {"allowed": 1},
            {},
            {"status": {}},
            1,
            0,
            [],
            PermissionError("no"),
        ),
    ),
    gives({"allowed": True, "patch": "[]"}),
    gives({"allowed": True, "warnings": "w"}),
    *(gives({"kind": "ConfigMap", "metadata": {"name": "a"}, "data": part}) for part in NOT_JSON),
    gives({"allowed": True, "auditAnnotations": {"a": object()}}),
)
CONVERSIONS = (
    *FAILING,
    *map(gives, (None, True, [], b"{}", 3)),
    *(gives({"kind": "Thing", "apiVersion": "example.com/v2", "spec": part}) for part in NOT_JSON),
)


def named(function: Any) -> str:
    return str(getattr(function, "__name__", function))


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS, ids=named)
def test_the_program_of_a_container(program: Any) -> None:
    """The container fails with a code and a message, an Event tells why, and what it printed before is in its log."""
    cluster = simulated(1)
    cluster.behave(image="app:1", program=program)
    cluster.create(pod("a", restartPolicy="Never"))
    cluster.settle()
    assert phase(cluster, "a") == "Failed"
    ended = container(cluster, "a")["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (1, "Error")
    assert "container main of pod default/a" in ended["message"]
    assert any(ended["message"] in text for text in messages(cluster, "Failed"))
    log = cluster.perform(Request.of("GET", "/api/v1/namespaces/default/pods/a/log")).body.decode()
    assert ended["message"] in log
    assert log.startswith("before\n") or "before" not in named(program)


@pytest.mark.parametrize("code", [None, 0, 1, 3, 255])
@pytest.mark.parametrize("make", [gives, lambda code: yields("line", 1.0, code=code)], ids=["function", "generator"])
def test_codes_that_a_program_may_return(make: Callable[[Any], Any], code: int | None) -> None:
    """None is 0; other numbers are the exit code, of a plain function too."""
    cluster = simulated(1)
    cluster.behave(image="app:1", program=make(code))
    cluster.create(pod("a", restartPolicy="Never"))
    cluster.settle()
    cluster.advance(5)
    assert container(cluster, "a")["state"]["terminated"]["exitCode"] == (code or 0)


@pytest.mark.slow
@pytest.mark.parametrize("command", PROGRAMS, ids=named)
def test_a_command_of_exec(command: Any) -> None:
    """What it wrote before arrives, then the fault, and a code that is no success."""
    cluster = simulated(1)
    cluster.behave(image="app:1", commands={"tool": command})
    cluster.create(pod("a"))
    cluster.settle()
    code, written = execute(cluster, "a", "tool")
    assert code == 1
    assert "command tool in container main" in written
    assert written.startswith("before\n") or "before" not in named(command)


@pytest.mark.slow
@pytest.mark.parametrize("command", PROGRAMS, ids=named)
def test_a_command_of_a_probe(command: Any) -> None:
    """The probe fails, and its Event has the fault."""
    cluster = simulated(1)
    cluster.behave(image="app:1", commands={"check": command}, program=yields(1000.0))
    probe = {"readinessProbe": {"exec": {"command": ["check"]}, "periodSeconds": 1, "failureThreshold": 1}}
    cluster.create(pod("a", container=probe))
    cluster.settle()
    cluster.advance(5)
    assert container(cluster, "a")["ready"] is False
    assert any("command check in container main" in text for text in messages(cluster, "Unhealthy"))


@pytest.mark.slow
@pytest.mark.parametrize("command", PROGRAMS, ids=named)
def test_a_command_of_a_hook(command: Any) -> None:
    """A hook after the start that fails ends its container."""
    cluster = simulated(1)
    cluster.behave(image="app:1", commands={"hook": command}, program=yields(1000.0))
    lifecycle = {"lifecycle": {"postStart": {"exec": {"command": ["hook"]}}}}
    cluster.create(pod("a", container=lifecycle, restartPolicy="Never"))
    cluster.settle()
    cluster.advance(5)
    assert messages(cluster, "FailedPostStartHook")


@pytest.mark.parametrize("handler", ANSWERS_OF_PORTS, ids=named)
def test_a_port_handler(handler: Any) -> None:
    """A probe of the port fails, a proxied request gets 503, and an Event tells why."""
    cluster = simulated(1)
    cluster.behave(image="app:1", ports={80: handler}, program=yields(1000.0))
    probe = {"readinessProbe": {"httpGet": {"port": 80}, "periodSeconds": 1, "failureThreshold": 1}}
    cluster.create(pod("a", container=probe))
    cluster.settle()
    cluster.advance(5)
    assert container(cluster, "a")["ready"] is False
    assert any("port 80 of pod default/a" in text for text in messages(cluster, "Failed"))
    answer = cluster.perform(Request.of("GET", "/api/v1/namespaces/default/pods/a:80/proxy/"))
    assert answer.status == 503


def hooked(function: Any, policy: str, *, mutating: bool = False, seconds: int = 10) -> Cluster:
    """A cluster whose writes of config maps are reviewed by a function."""
    cluster = simkit.Cluster(seed=1)
    kind = "MutatingWebhookConfiguration" if mutating else "ValidatingWebhookConfiguration"
    rule = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    hook = {
        "name": "w.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "rules": [rule],
        "failurePolicy": policy,
        "clientConfig": {"url": "https://w.example.com/"},
        "timeoutSeconds": seconds,
    }
    configuration = {"kind": kind, "metadata": {"name": "w"}, "webhooks": [hook]}
    cluster.create({"apiVersion": "admissionregistration.k8s.io/v1", **configuration})
    cluster.webhook("w.example.com", function)
    return cluster


CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}


@pytest.mark.slow
@pytest.mark.parametrize("mutating", [False, True])
@pytest.mark.parametrize("function", REVIEWS, ids=named)
def test_a_webhook(function: Any, mutating: bool) -> None:
    """It has failed: with Fail the write is refused with the reason, with Ignore it passes."""
    with pytest.raises(StatusError, match=r"failed calling webhook.*the function for it") as refusal:
        hooked(function, "Fail", mutating=mutating).create(CONFIG_MAP)
    assert refusal.value.code == 500
    hooked(function, "Ignore", mutating=mutating).create(CONFIG_MAP)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_a_webhook_that_takes_too_long(policy: str) -> None:
    """It has the seconds of its configuration, and not more."""
    let_go = threading.Event()
    cluster = hooked(lambda request: let_go.wait(60) and None, policy, seconds=1)
    try:
        if policy == "Ignore":
            cluster.create(CONFIG_MAP)
        else:
            with pytest.raises(StatusError, match="within 1s: context deadline exceeded"):
                cluster.create(CONFIG_MAP)
    finally:
        let_go.set()


def test_a_webhook_that_calls_itself() -> None:
    """A function that writes what it reviews made thousands of threads, which went on when nobody waited any more."""
    calls = list[str]()

    def write(request: dict[str, Any]) -> None:
        calls.append(request["name"])
        cluster.create({**CONFIG_MAP, "metadata": {"generateName": "a-"}})

    cluster = hooked(write, "Fail")
    with pytest.raises(StatusError, match="leads to a call of itself"):
        cluster.create(CONFIG_MAP)
    assert len(calls) < 50


def test_an_interrupt_is_the_users() -> None:
    """Who presses Ctrl-C in a notebook ends what runs there; nobody takes it for a fault of a function."""

    def interrupted(container: Container) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        foreign.call("it", interrupted, None, judge=foreign.judged_exit_code)


@pytest.mark.parametrize("function", CONVERSIONS, ids=named)
def test_a_conversion(function: Any) -> None:
    """An object that cannot be converted is not answered."""
    cluster = simkit.Cluster(seed=1)
    versions = [
        {
            "name": name,
            "served": True,
            "storage": name == "v1",
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        }
        for name in ("v1", "v2")
    ]
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://c.example.com/"}}
    spec = {
        "group": "example.com",
        "scope": "Namespaced",
        "versions": versions,
        "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
        "conversion": {"strategy": "Webhook", "webhook": webhook},
    }
    meta = {"name": "things.example.com"}
    definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": meta}
    cluster.create({**definition, "spec": spec})
    cluster.settle()
    cluster.conversion("things.example.com", function)
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a", "namespace": "default"}}
    cluster.create(thing)
    answer = cluster.perform(Request.of("GET", "/apis/example.com/v2/namespaces/default/things/a"))
    assert answer.status == 500
    assert "conversion for" in answer.object["message"]


# Health


def readiness(cluster: Cluster) -> tuple[int, str]:
    """The answers of readyz, and of the check of controllers."""
    whole = cluster.perform(Request.of("GET", "/readyz"))
    return whole.status, cluster.perform(Request.of("GET", "/readyz/simkit-controllers")).body.decode()


def until(condition: Callable[[], bool]) -> None:
    """Wait for what another thread does."""
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it does not happen")


def manager(cluster: Cluster) -> ControllerManager:
    return cluster._control_plane.runner


def test_an_exit_in_a_callback_leaves_the_controllers_at_work() -> None:
    """The thread of the controllers goes on, and so does everything else in the cluster."""
    cluster = simkit.Cluster(seed=1)
    cluster.add_nodes(1)
    cluster.behave(image="app:1", program=exits, ports={80: exits})
    manager(cluster).start()
    try:
        cluster.create(pod("a", restartPolicy="Never"))
        until(lambda: phase(cluster, "a") == "Failed")
        cluster.create(pod("b", image="other:1"))
        until(lambda: phase(cluster, "b") == "Running")
        assert readiness(cluster) == (200, "ok")
    finally:
        manager(cluster).stop()


def test_a_controller_that_fails_as_a_whole_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readyz fails with its name, until it works again."""
    cluster = simulated(1)
    kubelets = cluster._control_plane.simulation.kubelets  # type: ignore[union-attr]
    monkeypatch.setattr(kubelets, "sync", exits)
    cluster.create(pod("a"))
    with pytest.raises(SystemExit):
        cluster.settle()
    assert readiness(cluster)[0] == 500
    assert kubelets.name in readiness(cluster)[1]
    monkeypatch.undo()
    cluster.settle()
    assert readiness(cluster) == (200, "ok")


def test_a_program_that_sleeps_really_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a function holds the controllers up, readyz fails and says which it is."""
    monkeypatch.setattr("simkit.engine.controllers.controller_manager._LONG", 0.0)
    let_go = threading.Event()
    cluster = simkit.Cluster(seed=1)
    cluster.add_nodes(1)
    cluster.behave(image="app:1", program=lambda container: 0 if let_go.wait(60) else 1)
    manager(cluster).start()
    try:
        cluster.create(pod("a", restartPolicy="Never"))
        until(lambda: "container main of pod default/a" in readiness(cluster)[1])
        assert readiness(cluster)[0] == 500
        let_go.set()
        until(lambda: phase(cluster, "a") == "Succeeded")
    finally:
        let_go.set()
        manager(cluster).stop()


def test_a_dead_thread_is_not_ready() -> None:
    """Should the thread end nevertheless, readyz says so."""
    cluster = simkit.Cluster(seed=1)
    ended = threading.Thread(target=int)
    ended.start()
    ended.join()
    manager(cluster)._thread = ended
    assert readiness(cluster)[0] == 500
    assert "has ended" in readiness(cluster)[1]
