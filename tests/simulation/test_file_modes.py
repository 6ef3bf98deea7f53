"""Files of containers have modes, owners and times, and refuse users as on Linux."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.simulation.kubelet.process import Container, Process
from simkit.simulation.kubelet.shell import script_program
from simkit.simulation.shell.files import FileError, Files
from simkit.simulation.shell.user_files import User, UserFiles
from tests.simulation.test_shell import printed
from tests.simulation.worlds import execute, pod, simulated

_BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(_BASH is None, reason="compares with bash, which this machine does not have")
_SETPRIV = shutil.which("setpriv")
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root may give files to others and run as another user")
needs_setpriv = pytest.mark.skipif(_SETPRIV is None, reason="compares with a user that setpriv makes")
_NOW = 1_700_000_000.0


_REFUSED = [
    ("echo x > f; chmod 640 f", "cat f; echo $?; echo y > f; echo $?; [ -r f ] || echo unreadable"),
    ("mkdir d; echo x > d/f; chmod 711 d", "cat d/f; ls d || echo shut; touch d/g; echo $?; rm -f d/f; echo $?"),
    ("mkdir d; echo x > d/f; chmod 744 d", "ls d | wc -l; cat d/f; echo $?; [ -e d/f ] || echo unseen"),
    ("mkdir d; chmod 1777 d; echo x > d/theirs", "rm -f d/theirs; echo $?; echo y > d/mine; rm d/mine; echo $?; ls d"),
    ("mkdir d; chmod 777 d; echo x > d/theirs", "rm -f d/theirs; echo $?; ls d | wc -l"),
    ("echo x > f", "chmod 600 f; echo $?; touch f; echo $?"),
    ("printf 'echo ran\\n' > s; chmod 744 s", "./s; echo $?; sh s"),
    ("mkdir -p a/b; chmod 700 a", "mkdir a/c; echo $?; mkdir -p a/b/c; echo $?"),
    ("mkdir d; chmod 777 d; echo x > d/f; chmod 600 d/f", "cp d/f d/g; echo $?; mv d/f d/h; echo $?; ls d"),
    ("mkdir d; chmod 777 d", "id -u; id -g; id -G; cd d; mkdir e; chmod 000 e; ls e || echo shut"),
]


def bash(script: str, folder: Path, *user: str) -> tuple[int, str]:
    """The exit code of a script in bash, and what it prints."""
    words = [*user, str(_BASH), "-c", script]
    ran = subprocess.run(words, cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, timeout=20)
    return ran.returncode, ran.stdout.decode()


@pytest.mark.parametrize(("before", "script"), _REFUSED)
@needs_bash
@needs_root
@needs_setpriv
def test_a_user_is_refused_as_on_linux(before: str, script: str, tmp_path: Path) -> None:
    """Root makes files, and a user with a group of its own and another one meets them."""
    tmp_path.chmod(0o755)
    for each in tmp_path.parents:
        if each.owner() == "root" and each.is_relative_to("/tmp/") and each != Path("/tmp"):
            each.chmod(0o755)
    bash(f"umask 022; {before}", tmp_path)
    user = [str(_SETPRIV), "--reuid", "1000", "--regid", "1000", "--groups", "1000,2000"]
    expected = bash(f"umask 022; {script}", tmp_path, *user)
    assert as_user(before, script) == expected


def as_user(before: str, script: str) -> tuple[int, str]:
    """The answer of a script of a user here, after one of root."""
    files = Files()
    files.make_folder("/work")
    context = {"runAsUser": 1000, "runAsGroup": 1000}
    made_pod = {"spec": {"securityContext": {"supplementalGroups": [2000]}}}
    output = ""
    for text, spec in ((before, {}), (script, {"securityContext": context})):
        container = Container(made_pod, spec, started=_NOW, environment={"PATH": "/usr/bin:/bin"}, files=files)
        made = Process(script_program(["bash", "-c", f"cd /work; {text}"], fails=True)(container), _NOW)
        made.advance(_NOW + 10)
        assert made.ended is not None
        output, code = printed(made), made.ended[1]
    return code, output


def marked(cluster: Cluster, name: str, path: str) -> tuple[int, int, int]:
    """The mode, the owner and the group of a file of a pod's container."""
    simulation = cluster._control_plane.simulation
    assert simulation is not None
    found = cluster.get("pod", name)
    mark = simulation.kubelets.runtime.processes.files(found, found["spec"]["containers"][0]).mark(path)
    return mark.mode, mark.uid, mark.gid


def _keys(**data: str) -> dict[str, Any]:
    encoded = {name: base64.b64encode(text.encode()).decode() for name, text in data.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"}, "data": encoded}


def test_volumes_belong_to_the_group_of_the_pod() -> None:
    """``fsGroup`` owns an ``emptyDir``, and may read secrets; modes of secrets are those of the volume and its items."""
    cluster = simulated(1)
    cluster.apply([_keys(a="1", b="2")])
    secret = {
        "secretName": "keys",
        "defaultMode": 0o400,
        "items": [{"key": "a", "path": "a"}, {"key": "b", "path": "in/b", "mode": 0o555}],
    }
    volumes = [
        {"name": "keys", "secret": secret},
        {"name": "scratch", "emptyDir": {}},
        {"name": "plain", "emptyDir": {}},
    ]
    mounts: list[dict[str, Any]] = [
        {"name": "keys", "mountPath": "/keys"},
        {"name": "scratch", "mountPath": "/scratch"},
    ]
    mounts.append({"name": "plain", "mountPath": "/plain", "readOnly": True})
    made = pod("p", volumes=volumes, container={"volumeMounts": mounts, "securityContext": {"runAsGroup": 3000}})
    made["spec"]["securityContext"] = {"runAsUser": 1000, "fsGroup": 2000, "supplementalGroups": [4000]}
    cluster.create(made)
    cluster.settle()
    assert execute(cluster, "p", "id") == (0, "uid=1000 gid=3000 groups=3000,4000,2000\n")
    assert [marked(cluster, "p", path) for path in ("/keys/a", "/keys/in/b", "/keys", "/scratch")] == [
        (0o440, 0, 2000), (0o555, 0, 2000), (0o3777, 0, 2000), (0o2777, 0, 2000),
    ]  # fmt: skip
    script = "cat /keys/a; echo; echo x > /scratch/f; echo x > /plain/f; echo x > /etc/f"
    code, text = execute(cluster, "p", "sh", "-c", f"{script} 2>&1")
    assert (code, text.splitlines()) == (
        1,
        [
            "1", "sh: /plain/f: Read-only file system", "sh: /etc/f: Permission denied",
        ],
    )  # fmt: skip


def test_a_secret_without_a_group_is_closed_to_users() -> None:
    """A mode of 0400 leaves it to root, and the token of the account belongs to the only user."""
    cluster = simulated(1)
    cluster.apply([_keys(a="1")])
    volumes = [{"name": "keys", "secret": {"secretName": "keys", "defaultMode": 0o400}}]
    made = pod("p", volumes=volumes, container={"volumeMounts": [{"name": "keys", "mountPath": "/keys"}]})
    made["spec"]["securityContext"] = {"runAsUser": 1000}
    cluster.create(made)
    cluster.settle()
    assert execute(cluster, "p", "cat", "/keys/a") == (1, "cat: /keys/a: Permission denied\n")
    token = "/var/run/secrets/kubernetes.io/serviceaccount/token"
    assert marked(cluster, "p", token)[:2] == (0o600, 1000)
    assert execute(cluster, "p", "test", "-r", token)[0] == 0


def test_claims_are_open_and_paths_of_nodes_are_not() -> None:
    """A new claim is open to all, as on local clusters, and belongs to ``fsGroup``; a path of a node is root's."""
    cluster = simulated(1)
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    cluster.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}, "spec": claim})
    sources = {"claim": {"persistentVolumeClaim": {"claimName": "c"}}, "node": {"hostPath": {"path": "/srv/d"}}}
    volumes = [{"name": name, **source} for name, source in sources.items()]
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in sources]
    for name, context in (("plain", {"runAsUser": 1000}), ("grouped", {"runAsUser": 1000, "fsGroup": 2000})):
        made = pod(name, volumes=volumes, container={"volumeMounts": mounts})
        made["spec"]["securityContext"] = context
        cluster.create(made)
        cluster.settle()
        assert execute(cluster, name, "touch", "/node/f") == (1, "touch: /node/f: Permission denied\n")
        assert execute(cluster, name, "touch", f"/claim/{name}")[0] == 0
    given = [marked(cluster, "grouped", path) for path in ("/claim", "/claim/plain", "/claim/grouped")]
    assert given == [(0o2777, 0, 2000), (0o664, 1000, 2000), (0o644, 1000, 2000)]


def test_a_read_only_root() -> None:
    """Nothing is written but to volumes."""
    cluster = simulated(1)
    made = pod(
        "p",
        volumes=[{"name": "tmp", "emptyDir": {}}],
        container={
            "securityContext": {"readOnlyRootFilesystem": True}, "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
        },
    )  # fmt: skip
    cluster.create(made)
    cluster.settle()
    assert execute(cluster, "p", "touch", "/f") == (1, "touch: /f: Read-only file system\n")
    assert execute(cluster, "p", "sh", "-c", "echo x > /tmp/f; cat /tmp/f") == (0, "x\n")
    assert execute(cluster, "p", "test", "-w", "/etc")[0] == 1


def test_scripts_of_config_maps_are_run_where_their_mode_says_so() -> None:
    """Without the bit for it they are refused with 126."""
    cluster = simulated(1)
    cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "s"},
            "data": {"run": "#!/bin/sh\necho ran $1\n"},
        }
    )
    volumes = [
        {"name": "plain", "configMap": {"name": "s"}}, {"name": "runs", "configMap": {"name": "s", "defaultMode": 0o755}},
    ]  # fmt: skip
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in ("plain", "runs")]
    cluster.create(pod("p", volumes=volumes, container={"volumeMounts": mounts}))
    cluster.settle()
    assert execute(cluster, "p", "sh", "-c", "/runs/run a") == (0, "ran a\n")
    assert execute(cluster, "p", "sh", "-c", "/plain/run a") == (126, "/plain/run: Permission denied\n")


def test_decisions_are_those_of_the_tree() -> None:
    """Root passes but for what nobody may run; others need each folder on the way."""
    tree = Files({"/a/b/f": "x"})
    root, user = UserFiles(tree), UserFiles(tree, User(5, 6))
    assert [root.may("/a/b/f", each) for each in "rwx"] == [True, True, False]
    assert [user.may("/a/b/f", each) for each in "rwx"] == [True, False, False]
    root.set_mode("/a", 0o600)
    assert not user.may("/a/b/f", "r")
    assert user.tree("/a") == ["/a"]
    with pytest.raises(FileError, match="Permission denied"):
        user.read("/a/b/f")
    with pytest.raises(FileError, match="not permitted"):
        user.set_mode("/tmp", 0o700)
