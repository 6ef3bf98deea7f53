"""kubectl and the Python client reach pods: logs, exec, attach, cp and port-forward, over WebSockets and SPDY."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import simkit
from simkit.engine.http.upgrade.remote_command import CommandDriver
from simkit.engine.http.upgrade.spdy_session import Opened, Received, SpdyConnection, SpdyError
from simkit.engine.pipeline.subresources.connection_target import CommandSession
from simkit.meta.message import Request
from simkit.seams import RemoteProcess
from simkit.simulation.connections.terminal import Terminal
from tests.simulation.worlds import pod, simulated

Kubectl = Callable[..., "subprocess.CompletedProcess[str]"]
WEBSOCKETS = {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "true", "KUBECTL_PORT_FORWARD_WEBSOCKETS": "true"}
SPDY = dict.fromkeys(WEBSOCKETS, "false")


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A served cluster with two nodes and a pod that runs."""
    cluster = simkit.Cluster(seed=3)
    cluster.add_nodes(2)
    cluster.behave(image="web:*", files={"/etc/motd": "hello\n"}, ports={81: bytes.upper})
    path = tmp_path_factory.mktemp("connections") / "kubeconfig"
    with cluster.serve(kubeconfig=path):
        cluster.create(pod("web", image="web:1"))
        deadline = time.monotonic() + 10
        while cluster.get("pod", "web")["status"]["phase"] != "Running" and time.monotonic() < deadline:
            time.sleep(0.02)
        yield path


@pytest.fixture
def kubectl(kubeconfig: Path) -> Kubectl:
    """Runs kubectl against it."""
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")

    def run(*words: str, env: dict[str, str] | None = None, given: str = "") -> subprocess.CompletedProcess[str]:
        known = {**os.environ, "KUBECONFIG": str(kubeconfig), **(env or {})}
        return subprocess.run(
            ["kubectl", *words], env=known, input=given, capture_output=True, text=True, timeout=30, check=False
        )

    return run


@pytest.mark.parametrize("env", [WEBSOCKETS, SPDY], ids=["websocket", "spdy"])
def test_exec(kubectl: Kubectl, env: dict[str, str]) -> None:
    """Outputs, input and exit code go through; what the container does not have is told as containerd does."""
    done = kubectl("exec", "web", "--", "sh", "-c", "cat /etc/motd; echo no >&2; exit 3", env=env)
    assert (done.returncode, done.stdout) == (3, "hello\n")
    assert done.stderr == "no\ncommand terminated with exit code 3\n"
    assert kubectl("exec", "-i", "web", "--", "cat", env=env, given="typed").stdout == "typed"
    missing = kubectl("exec", "web", "--", "psql", env=env)
    assert missing.stderr.startswith("error: Internal error occurred: error executing command in container: failed")
    assert 'exec: "psql": executable file not found in $PATH' in missing.stderr
    assert missing.returncode == 1


@pytest.mark.parametrize("env", [WEBSOCKETS, SPDY], ids=["websocket", "spdy"])
def test_copies(kubectl: Kubectl, env: dict[str, str], tmp_path: Path) -> None:
    """A folder goes into a container and comes back the same."""
    there = f"web:/data-{len(env['KUBECTL_REMOTE_COMMAND_WEBSOCKETS'])}"
    (tmp_path / "there" / "sub").mkdir(parents=True)
    (tmp_path / "there" / "sub" / "data").write_bytes(os.urandom(100_000))
    assert kubectl("cp", str(tmp_path / "there"), there, env=env).returncode == 0
    assert kubectl("cp", there, str(tmp_path / "back"), env=env).returncode == 0
    assert (tmp_path / "back" / "sub" / "data").read_bytes() == (tmp_path / "there" / "sub" / "data").read_bytes()


@pytest.mark.parametrize("env", [WEBSOCKETS, SPDY], ids=["websocket", "spdy"])
def test_port_forward(kubeconfig: Path, kubectl: Kubectl, env: dict[str, str]) -> None:
    """HTTP is answered by the built-in handler, another port by the function of the test."""
    known = {**os.environ, "KUBECONFIG": str(kubeconfig), **env}
    words = ["kubectl", "port-forward", "pod/web", ":80", ":81"]
    with subprocess.Popen(words, env=known, stdout=subprocess.PIPE, text=True) as forward:
        try:
            assert forward.stdout is not None
            found: dict[str, int] = {}
            while len(found) < 2:
                line = forward.stdout.readline()
                if "127.0.0.1" in line:
                    found[line.split()[-1]] = int(line.split(":")[1].split()[0])
            with urllib.request.urlopen(f"http://127.0.0.1:{found['80']}/x") as answer:
                assert answer.read() == b"default/web:80 GET /x HTTP/1.1\n"
            with socket.create_connection(("127.0.0.1", found["81"])) as link:
                link.sendall(b"shout")
                assert link.recv(100) == b"SHOUT"
        finally:
            forward.terminate()


@pytest.mark.slow
def test_logs_and_attach(kubectl: Kubectl) -> None:
    """A log is followed to the end of its pod; what is typed at a shell that runs in a container ends it."""
    kubectl("run", "talk", "--image=busybox", "--restart=Never", "--", "sh", "-c", "echo one; sleep 1; echo two")
    assert kubectl("wait", "pod/talk", "--for=jsonpath={.status.startTime}", "--timeout=10s").returncode == 0
    assert kubectl("logs", "-f", "talk").stdout == "one\ntwo\n"
    assert kubectl("logs", "--tail=1", "talk").stdout == "two\n"
    done = kubectl("run", "-i", "box", "--image=busybox", "--restart=Never", "--", "sh", given="echo hi\nexit 4\n")
    assert done.stdout.startswith("hi")
    assert done.returncode == 4


def test_the_python_client_streams(kubeconfig: Path) -> None:
    """The official client reads what a command writes, and its exit code."""
    from kubernetes import client, config
    from kubernetes.stream import stream

    api = config.new_client_from_config(str(kubeconfig))  # type: ignore[no-untyped-call]
    core = client.CoreV1Api(api)
    call = core.connect_get_namespaced_pod_exec
    link = stream(call, "web", "default", command=["sh"], stdin=True, stdout=True, stderr=True, tty=False,
                  _preload_content=False)  # fmt: skip
    link.write_stdin("echo one\n")
    assert link.readline_stdout(timeout=5) == "one"
    link.write_stdin("echo two >&2\n")
    assert link.readline_stderr(timeout=5) == "two"
    link.write_stdin("exit 5\n")
    link.run_forever(timeout=5)
    assert link.returncode == 5
    link.sock.shutdown()
    assert core.read_namespaced_pod_log("web", "default") == ""
    api.close()


def test_a_command_outlives_its_client(kubeconfig: Path) -> None:
    """What a client sent before it left is read, and the command goes on to its end, as with a container runtime."""
    from kubernetes import client, config
    from kubernetes.stream import stream

    api = config.new_client_from_config(str(kubeconfig))  # type: ignore[no-untyped-call]
    call = client.CoreV1Api(api).connect_get_namespaced_pod_exec

    def run(command: str, **wanted: bool) -> Any:
        words = ["sh", "-c", command]
        return stream(call, "web", "default", command=words, stderr=True, tty=False, _preload_content=False, **wanted)

    link = run("sleep 0.3; cat > /tmp/input; echo done >> /tmp/input", stdin=True)
    link.write_stdin("sent\n" * 50_000)
    link.close()
    run("sleep 0.3; echo late > /tmp/late", stdin=False).close()
    seen = "until [ -e /tmp/late ] && grep -q done /tmp/input; do sleep 0.1; done"
    done = run(f"{seen}; wc -l < /tmp/input", stdin=False)
    done.run_forever(timeout=10)
    assert done.read_stdout() == "50001\n"
    done.sock.shutdown()
    api.close()


def test_few_commands_outlive_their_clients() -> None:
    """Of commands without a client, 32 run on, each for a minute at most; others end with theirs."""
    asyncio.run(_clients_leave())


def test_a_command_ends_when_it_writes_to_a_client_that_is_gone() -> None:
    """Its pipe is broken, so that it computes for nobody."""
    asyncio.run(_a_client_leaves())


async def _a_client_leaves() -> None:
    writes = _Endless([("stdout", b"more")])
    driver = CommandDriver(CommandSession(writes, True, True, True, False), _Unread(), _loop())
    driver.leave()
    while not writes.polls:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)
    assert writes.polls == 1


def test_a_silent_command_without_a_client_gets_little_time() -> None:
    """One that computes and writes nothing has a twentieth of a core, not all of it, until its minute is over."""
    asyncio.run(_a_silent_command())


async def _a_silent_command() -> None:
    computes = _Endless()
    driver = CommandDriver(CommandSession(computes, True, True, True, False), _Unread(), _loop())
    driver.leave()
    await asyncio.sleep(0.5)
    assert computes.polls <= 4  # a slow machine polls less often
    driver.stop()


async def _clients_leave() -> None:
    ran = [_Endless() for _ in range(40)]
    drivers = [CommandDriver(CommandSession(each, True, True, True, False), _Unread(), _loop()) for each in ran]
    for driver in drivers:
        driver.leave()
    while sum(each.polls > 1 for each in ran) < 32:
        await asyncio.sleep(0.01)
    assert sum(each.no_more_input for each in ran) == 32
    for driver in drivers:
        driver.stop()


def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


class _Endless:
    """A process that runs for ever."""

    exit_code, failure, runs_by_itself = None, "", False

    def __init__(self, output: Sequence[tuple[str, bytes]] = ()) -> None:
        self._output, self.polls, self.no_more_input = output, 0, False

    def feed(self, data: bytes) -> None:
        """Read nothing."""

    def end_input(self) -> None:
        self.no_more_input = True

    def poll(self) -> list[tuple[str, bytes]]:
        self.polls += 1
        return list(self._output)

    def pause(self) -> float:
        return 0.0

    def on_change(self, callback: Callable[[], None]) -> None:
        """Never change by itself."""


class _Unread:
    """A client that reads nothing; it must not be told anything once it is gone."""

    def output(self, stream: str, data: bytes) -> None:
        raise AssertionError(stream, data)

    def ended(self) -> None:
        raise AssertionError

    def waiting(self) -> int:
        return 1 << 30


@pytest.mark.parametrize("env", [WEBSOCKETS, SPDY], ids=["websocket", "spdy"])
def test_kubectl_hands_on_that_a_port_closes(kubeconfig: Path, kubectl: Kubectl, env: dict[str, str]) -> None:
    """A forwarded connection ends when the pod has ended it, and the next one is answered."""
    assert kubectl("wait", "--for=condition=Ready", "pod/web").returncode == 0
    with subprocess.Popen(
        ["kubectl", "port-forward", "pod/web", ":82"],
        env={**os.environ, "KUBECONFIG": str(kubeconfig), **env},
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        port = int(running.stdout.readline().partition(" -> ")[0].rpartition(":")[2])
        for _ in range(2):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as link:
                link.sendall(b"GET / HTTP/1.1\r\n\r\n")
                assert b"".join(iter(lambda link=link: link.recv(1024), b"")).endswith(b"GET / HTTP/1.1\n")  # type: ignore[misc]
        running.terminate()


def test_logs_in_process() -> None:
    """Options choose lines; a container that has not started, or not before, is told as by a kubelet."""
    cluster = simulated(1)
    cluster.create(pod("p", restartPolicy="Never", command=["sh", "-c", "echo a; sleep 10; echo b"]))
    cluster.create(pod("late", annotations={"simkit/start-after": "1h"}))
    cluster.settle()
    cluster.advance(seconds=20)
    path = "/api/v1/namespaces/default/pods/p/log"

    def log(query: str) -> bytes:
        return cluster.perform(Request.of("GET", f"{path}?{query}")).body

    assert [log(query) for query in ("", "tailLines=1", "limitBytes=3", "sinceSeconds=15")] == [
        b"a\nb\n",
        b"b\n",
        b"a\nb",
        b"b\n",
    ]
    assert log("timestamps=true").startswith(b"2024-04-17T00:00:00.000000000Z a\n")
    assert b'previous terminated container \\"main\\" in pod \\"p\\" not found' in log("previous=true")
    late = cluster.perform(Request.of("GET", path.replace("/p/", "/late/")))
    assert late.status == 400
    assert b"is waiting to start: ContainerCreating" in late.body


def test_a_terminal_echoes_and_mends_lines() -> None:
    """Backspace takes a letter back, and a line is sent as a whole."""

    class Recorder:
        exit_code, failure, runs_by_itself = None, "", False

        def __init__(self) -> None:
            self.fed: list[bytes] = []

        def feed(self, data: bytes) -> None:
            self.fed.append(data)

        def end_input(self) -> None:
            self.fed.append(b"")

        def end_file(self) -> None:
            self.fed.append(b"^D")

        def interrupt(self) -> None:
            self.fed.append(b"^C")

        def poll(self) -> list[tuple[str, bytes]]:
            return []

        def pause(self) -> None:
            return None

        def on_change(self, callback: Callable[[], None]) -> None:
            """The output never changes."""

    process = Recorder()
    terminal: RemoteProcess = Terminal(process)
    terminal.feed(b"lx\x7fs\r\x04a\x04b\x03")
    assert process.fed == [b"ls\n", b"^D", b"a", b"^C"]
    assert terminal.poll() == [("stdout", b"lx\b \bs\nab^C\n")]


def test_a_shell_behind_a_terminal() -> None:
    """Ctrl-C ends a command and not the shell, Ctrl-D the input of a command; at the prompt it ends the shell."""
    cluster = simulated(1)
    cluster.create(pod("web", container={"tty": True, "stdin": True}, command=["sh"]))
    cluster.settle()
    simulation = cluster._control_plane.simulation
    assert simulation is not None
    found = cluster.get("pod", "web")
    terminal = simulation.connections.command(found, "main", ["sh"], stdin=True, tty=True)
    for typed in (b"sleep inf\r", b"\x03", b"echo $?\r", b"cat\r", b"x\r", b"\x04", b"echo after\r", b"\x04"):
        terminal.feed(typed)
        terminal.poll()
    assert terminal.exit_code == 0
    attached = simulation.connections.command(found, "main", None, stdin=True, tty=True)
    attached.feed(b"echo hello\r")
    assert b"".join(data for _, data in attached.poll()) == b"echo hello\nhello\n/ # "
    attached.feed(b"cat\rab\x03echo again\r")
    assert b"".join(data for _, data in attached.poll()) == b"cat\nab^C\necho again\n/ # again\n/ # "


@given(st.lists(st.tuples(st.integers(1, 9), st.binary(max_size=70_000)), max_size=4), st.integers(1, 50))
def test_frames_arrive_whatever_their_pieces(sent: list[tuple[int, bytes]], size: int) -> None:
    """Bytes that arrive in pieces of any size make the same events."""
    client, server = SpdyConnection(), SpdyConnection()
    wire = b"".join(client.open(2 * number + 1, {"streamtype": "stdin"}) for number in range(3))
    wire += b"".join(client.data(stream, data) for stream, data in sent)
    step = max(size, len(wire) // 500)
    events = [event for at in range(0, len(wire), step) for event in server.receive(wire[at : at + step])]
    assert [event.headers for event in events if isinstance(event, Opened)] == [{"streamtype": "stdin"}] * 3
    received = [event for event in events if isinstance(event, Received)]
    for stream in {stream for stream, _ in sent}:
        arrived = b"".join(event.data for event in received if event.stream == stream)
        assert arrived == b"".join(data for other, data in sent if other == stream)


@given(st.binary(max_size=200))
def test_strange_bytes_are_refused(data: bytes) -> None:
    """Bytes that are no SPDY make events or an error, and nothing else."""
    with suppress(SpdyError):
        list(SpdyConnection().receive(data))
