"""Programs of this machine in containers: opt-in, in a sandbox, with the container's files."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from kubernetes import client, config

from simkit import Cluster
from simkit.cli import main
from simkit.cluster.options import Options
from simkit.meta.clock import SimulatedClock
from simkit.meta.errors import SimkitError
from simkit.simulation.kubelet.host_programs import HostFiles, found_programs, program_folders
from simkit.simulation.kubelet.sandboxed_process import SandboxedProcess
from simkit.simulation.shell.files import Files


def _can_sandbox() -> bool:
    """True if bubblewrap is here and may make a sandbox."""
    if shutil.which("bwrap") is None:
        return False
    process = SandboxedProcess(["--unshare-user", "--unshare-pid", "--ro-bind", "/", "/"], ["/bin/true"])
    process.wait(20)
    code = process.code
    process.close()
    return code == 0


_PYTHON: Final = f"python3={shutil.which('python3', path='/usr/bin') or sys.executable}"
sandboxed = pytest.mark.skipif(not _can_sandbox(), reason="bubblewrap cannot make a sandbox here")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, client.CoreV1Api]]:
    """A served cluster whose containers may run Python."""
    path = tmp_path_factory.mktemp("host") / "kubeconfig"
    cluster = Cluster()
    cluster.add_nodes(1)
    server = cluster.serve(kubeconfig=path, host_programs=[_PYTHON, "bash,awk,sed"])
    connected = config.new_client_from_config(str(path))  # type: ignore[no-untyped-call]
    api = client.CoreV1Api(connected)
    try:
        yield cluster, api
    finally:
        api.delete_collection_namespaced_pod("default", grace_period_seconds=0)
        _until(lambda: not api.list_namespaced_pod("default").items)
        connected.close()
        server.stop()


def _pod(name: str, **container: Any) -> dict[str, Any]:
    spec = {"name": "main", "image": "python:3.12", **container}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [spec], "restartPolicy": "Never", "terminationGracePeriodSeconds": 20},
    }


def _until(condition: Callable[[], Any]) -> Any:
    end = time.monotonic() + 30
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def _ended(api: client.CoreV1Api, name: str) -> int:
    """The exit code of a pod's container, once it has ended."""

    def code() -> tuple[int] | None:
        statuses = api.read_namespaced_pod(name, "default").to_dict()["status"]["container_statuses"] or ()
        ended = [each["state"]["terminated"] for each in statuses if each["state"]["terminated"]]
        return (ended[0]["exit_code"],) if ended else None

    return int(_until(code)[0])


def _log(api: client.CoreV1Api, name: str) -> str:
    """The log of a pod; empty before its container has started."""
    try:
        return str(api.read_namespaced_pod_log(name, "default") or "")
    except client.ApiException:  # it has not started yet
        return ""


def _exec(cluster: Cluster, name: str, *command: str) -> str:
    """What a command in a pod's container prints, as exec starts it."""
    pod = cluster.get("pod", name)
    process = cluster._simulation().connections.command(pod, "main", command, stdin=False, tty=False)
    found = b""
    while process.exit_code is None:
        found += b"".join(data for _, data in process.poll())
        time.sleep(min(process.pause() or 0.0, 0.1))
    return found.decode()


@sandboxed
def test_a_container_runs_a_program_with_its_own_files_and_variables(
    served: tuple[Cluster, client.CoreV1Api],
) -> None:
    """The program sees config maps at their paths, its folder, its variables and its user, and prints into the log."""
    cluster, api = served
    text = "import os\nprint(os.environ['WHO'], os.getuid(), os.getcwd())\nopen('/tmp/made', 'w').write('x')\nexit(3)\n"
    cluster.create(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "code", "namespace": "default"},
            "data": {"main.py": text},
        }
    )
    pod = _pod(
        "files",
        command=["python3", "main.py"],
        workingDir="/app",
        env=[{"name": "WHO", "value": "me"}],
        volumeMounts=[{"name": "code", "mountPath": "/app"}],
        securityContext={"runAsUser": 1000},
    )
    pod["spec"]["volumes"] = [{"name": "code", "configMap": {"name": "code"}}]
    cluster.create(pod)
    assert _ended(api, "files") == 3
    assert _log(api, "files") == "me 1000 /app\n"


@sandboxed
def test_arguments_alone_may_name_a_program(served: tuple[Cluster, client.CoreV1Api]) -> None:
    """Entry points of images are not known; most run what they are given."""
    cluster, api = served
    cluster.create(_pod("arguments", args=["python3", "-c", "print(6 * 7)"]))
    assert _ended(api, "arguments") == 0
    assert _log(api, "arguments") == "42\n"


@sandboxed
def test_exec_runs_a_program_also_in_a_script_and_sees_what_it_wrote(
    served: tuple[Cluster, client.CoreV1Api],
) -> None:
    """Pipes, ``command -v`` and files work between programs of the machine and those of the built-in shell."""
    cluster, api = served
    cluster.create(_pod("scripts", command=["sleep", "600"]))
    _until(lambda: api.read_namespaced_pod("scripts", "default").to_dict()["status"]["phase"] == "Running")
    script = 'echo 3 | python3 -c \'open("/tmp/out", "w").write(str(int(input()) * 2))\'; cat /tmp/out'
    assert _exec(cluster, "scripts", "sh", "-c", script) == "6"
    assert _exec(cluster, "scripts", "sh", "-c", "command -v python3") == "python3\n"
    assert "No such file" in _exec(cluster, "scripts", "python3", "-c", f"open({str(Path(__file__))!r})")


@sandboxed
def test_a_program_gets_the_signal_that_ends_its_pod(served: tuple[Cluster, client.CoreV1Api]) -> None:
    """A program with a handler ends by itself, with its own exit code and its last words in the log."""
    cluster, api = served
    text = (
        "import signal, sys, time\n"
        "def end(*_):\n    print('told', flush=True)\n    sys.exit(7)\n"
        "signal.signal(signal.SIGTERM, end)\nprint('ready', flush=True)\ntime.sleep(600)"
    )
    cluster.create(_pod("signals", command=["python3", "-c", text]))
    _until(lambda: "ready" in _log(api, "signals"))
    _exec(cluster, "signals", "kill", "1")
    assert _ended(api, "signals") == 7
    assert _log(api, "signals") == "ready\ntold\n"


@sandboxed
def test_a_program_reaches_the_api_server_with_its_service_account(served: tuple[Cluster, client.CoreV1Api]) -> None:
    """The variables of the service ``kubernetes`` lead to the server, which knows the token."""
    cluster, api = served
    text = (
        "import os, ssl, urllib.request as u\n"
        "base = '/var/run/secrets/kubernetes.io/serviceaccount/'\n"
        "at = 'https://' + os.environ['KUBERNETES_SERVICE_HOST'] + ':' + os.environ['KUBERNETES_SERVICE_PORT']\n"
        "wanted = u.Request(at + '/version', headers={'Authorization': 'Bearer ' + open(base + 'token').read()})\n"
        "print(u.urlopen(wanted, context=ssl._create_unverified_context()).status)"
    )
    cluster.create(_pod("account", command=["python3", "-c", text]))
    assert (_ended(api, "account"), _log(api, "account")) == (0, "200\n")


@sandboxed
def test_shells_of_the_machine_run_what_the_small_shell_refuses(served: tuple[Cluster, client.CoreV1Api]) -> None:
    """A script of bash with awk and sed, in the command of a pod and in exec, also by a path that its image lacks."""
    cluster, api = served
    script = "a=(x y); for i in {0..1}; do echo ${a[i]^}; done | sed s/X/Z/ | awk '{ print NR, $1 }'; exit 5"
    cluster.create(_pod("real", image="busybox", command=["/bin/bash", "-c", script]))
    assert _ended(api, "real") == 5
    assert _log(api, "real") == "1 Z\n2 Y\n"
    cluster.create(_pod("idle", image="ubuntu", command=["sleep", "600"]))
    _until(lambda: api.read_namespaced_pod("idle", "default").to_dict()["status"]["phase"] == "Running")
    assert (
        _exec(cluster, "idle", "/bin/bash", "-c", "echo ${BASH_VERSION%%.*} > /tmp/v; [[ -s /tmp/v ]] && echo yes")
        == "yes\n"
    )
    assert _exec(cluster, "idle", "cat", "/tmp/v").strip().isdigit()


def test_a_program_whose_folder_would_show_too_much_is_refused_at_the_start(tmp_path: Path) -> None:
    """A server that starts with it would have pods that cannot run."""
    tool = Path.home() / "bin" / "tool"
    with pytest.raises(SimkitError, match="install it in a folder of its own"):
        program_folders([tool])
    assert program_folders([Path("/bin/bash"), Path("/usr/bin/awk"), tmp_path / "bin" / "x"]) == [str(tmp_path)]


@sandboxed
def test_a_killed_pod_leaves_no_program_behind(served: tuple[Cluster, client.CoreV1Api]) -> None:
    """A program that heeds no signal ends with its pod."""
    cluster, api = served
    cluster.create(_pod("left", command=["python3", "-c", "import time\nprint(1, flush=True)\ntime.sleep(4242.5)"]))
    _until(lambda: "1" in _log(api, "left"))
    assert _running("4242.5")
    api.delete_namespaced_pod("left", "default", grace_period_seconds=0)
    _until(lambda: not _running("4242.5"))


def _running(word: str) -> bool:
    """True if a process of this machine has a word in its command line."""
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word.encode() in each.read_bytes():
                return True
        except OSError:  # it has ended meanwhile
            continue
    return False


def test_links_that_a_program_leaves_behind_are_not_followed(tmp_path: Path) -> None:
    """A link to a file of the machine is a link in the container, and never its content."""
    secret = tmp_path / "secret"
    secret.write_text("mine")
    files = Files({"/app/a": "1", "/app/b": "2"})
    host = HostFiles(files)
    (host.root / "app/a").unlink()
    (host.root / "app/a").symlink_to(secret)
    (host.root / "folder").symlink_to(tmp_path)
    (host.root / "app/b").unlink()
    host.pull()
    host.close()
    assert files.target("/folder") == str(tmp_path)
    assert not files.is_file("/app/b")
    assert "mine" not in {files.read(path).decode() for path in files.tree("/") if files.is_file(path)}


def test_what_cannot_be_written_in_the_container_is_protected() -> None:
    """Read-only trees are told, with what can be written in them, and changes to them are not taken."""
    files = Files({"/app/a": "1"}, folders=("/", "/app", "/data"), read_only=True)
    files.mount("/data", Files())
    host = HostFiles(files)
    assert list(host.protected()) == [("/", True), ("/data", False)]
    (host.root / "app/a").write_text("2")
    (host.root / "data/b").write_text("3")
    host.pull()
    host.close()
    assert (files.read("/app/a"), files.read("/data/b")) == (b"1", b"3")


def test_programs_run_for_clients_of_this_machine_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever may create pods may run them, so nobody from elsewhere can reach the server."""
    command = ["serve", "--nodes", "1", "--host-program", "python3", "--bind-address", "0.0.0.0", "--secure-port"]
    assert main([*command, "16999"]) == 2
    assert "--bind-address 0.0.0.0" in capsys.readouterr().err
    with pytest.raises(SimkitError, match=r"0\.0\.0\.0"):
        Cluster().serve(bind_address="0.0.0.0", host_programs=["python3"])


def test_programs_need_nodes_and_real_time(capsys: pytest.CaptureFixture[str]) -> None:
    """Without nodes there are no containers, and programs do not heed a simulated clock."""
    assert main(["serve", "--host-program", "python3", "--secure-port", "16999"]) == 2
    assert "--nodes 3" in capsys.readouterr().err
    with pytest.raises(SimkitError, match="real time"):
        Cluster(options=Options(clock=SimulatedClock())).serve(host_programs=["python3"])


def test_a_program_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """So is a missing bubblewrap."""
    monkeypatch.setattr(shutil, "which", lambda name, **_: "/usr/bin/bwrap" if name == "bwrap" else None)
    with pytest.raises(SimkitError, match="no program 'pyhton' on this machine"):
        found_programs(["pyhton"])
    monkeypatch.setattr(shutil, "which", lambda name, **_: None)
    with pytest.raises(SimkitError, match="install bubblewrap"):
        found_programs(["python3"])


@sandboxed
def test_forks_run_no_programs_of_the_machine(served: tuple[Cluster, client.CoreV1Api]) -> None:
    """A trial, as that of an escalation path, stays in memory."""
    cluster, _ = served
    with cluster.what_if() as trial:
        simulation = trial._simulation()
        assert simulation.behaviours.host is None
