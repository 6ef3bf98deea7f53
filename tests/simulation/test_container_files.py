"""Containers have files, volumes, variables and commands as in a real one."""

from __future__ import annotations

import base64

import pytest

from simkit.simulation.shell.files import FileError, Files
from simkit.simulation.shell.user_files import UserFiles, packed, unpack
from tests.simulation.worlds import execute, pod, simulated

_SETTINGS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"mode": "fast"}}
_KEYS = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "keys"},
    "data": {"password": base64.b64encode(b"s3cret").decode()},
}


def test_volumes_are_files() -> None:
    """Config maps, secrets, fields and tokens are read as files, and a changed config map is seen at once."""
    cluster = simulated(1)
    cluster.apply([_SETTINGS, _KEYS])
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in ("config", "secret", "fields", "scratch")]
    single = {"name": "config", "mountPath": "/etc/mode", "subPath": "mode"}
    items = [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]
    volumes = [
        {"name": "config", "configMap": {"name": "settings"}},
        {"name": "secret", "secret": {"secretName": "keys", "items": [{"key": "password", "path": "db/pw"}]}},
        {"name": "fields", "downwardAPI": {"items": items}},
        {"name": "scratch", "emptyDir": {}},
    ]
    second = {"name": "second", "image": "busybox", "volumeMounts": [{"name": "scratch", "mountPath": "/shared"}]}
    made = pod("p", labels={"app": "x"}, volumes=volumes, container={"volumeMounts": [*mounts, single]})
    made["spec"]["containers"].append(second)
    cluster.create(made)
    cluster.settle()
    assert execute(cluster, "p", "cat", "/config/mode", "/etc/mode", "/secret/db/pw") == (0, "fastfasts3cret")
    assert execute(cluster, "p", "cat", "/fields/labels") == (0, 'app="x"')
    assert execute(cluster, "p", "sh", "-c", "echo hi > /scratch/a")[0] == 0
    assert execute(cluster, "p", "cat", "/shared/a", container="second") == (0, "hi\n")
    assert "Read-only file system" in execute(cluster, "p", "sh", "-c", "echo no > /config/mode")[1]
    cluster.apply({**_SETTINGS, "data": {"mode": "slow"}})
    assert execute(cluster, "p", "cat", "/config/mode") == (0, "slow")
    account = "/var/run/secrets/kubernetes.io/serviceaccount"
    assert execute(cluster, "p", "cat", f"{account}/namespace") == (0, "default")
    assert execute(cluster, "p", "cat", f"{account}/token")[1].count(".") == 2
    assert execute(cluster, "p", "cat", "/etc/hostname") == (0, "p\n")


def test_a_claim_keeps_its_files() -> None:
    """What a pod writes to a claim is there for the next pod."""
    cluster = simulated(1)
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    cluster.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": spec})
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    mounts = {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    cluster.create(pod("first", volumes=volumes, container=mounts))
    cluster.settle()
    assert execute(cluster, "first", "sh", "-c", "echo kept > /data/file")[0] == 0
    cluster.delete("pod", "first")
    cluster.settle()
    cluster.create(pod("second", volumes=volumes, container=mounts))
    cluster.settle()
    assert execute(cluster, "second", "cat", "/data/file") == (0, "kept\n")


def test_variables() -> None:
    """Variables come from values, fields, amounts, maps, secrets and services; one may name an earlier one."""
    cluster = simulated(1)
    cluster.apply([_SETTINGS, _KEYS])
    service = {"ports": [{"port": 80, "name": "http"}], "clusterIP": "10.96.0.77"}
    cluster.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "my-web"}, "spec": service})
    limits = {"resource": "requests.cpu", "divisor": "1m"}
    env = [
        {"name": "WHERE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "password"}}},
        {"name": "CPU", "valueFrom": {"resourceFieldRef": limits}},
        {"name": "URL", "value": "$(WHERE)/$(NOT_THERE)/$$(WHERE)"},
    ]
    more = {"env": env, "envFrom": [{"configMapRef": {"name": "settings"}, "prefix": "X_"}]}
    cluster.create(pod("p", requests={"cpu": "250m"}, container=more))
    cluster.settle()
    code, text = execute(cluster, "p", "env")
    found = dict(line.split("=", 1) for line in text.splitlines())
    assert code == 0
    assert (found["WHERE"], found["PASSWORD"], found["CPU"], found["X_mode"]) == ("node-0", "s3cret", "250", "fast")
    assert found["URL"] == "node-0/$(NOT_THERE)/$(WHERE)"
    assert (found["MY_WEB_SERVICE_HOST"], found["MY_WEB_SERVICE_PORT_HTTP"]) == ("10.96.0.77", "80")
    assert "KUBERNETES_SERVICE_HOST" in found


def test_mounted_trees() -> None:
    """A tree that is mounted is part of the other; what a function gives cannot be written or removed."""
    files, volume = Files({"/a": "1"}), Files(folders=("/",))
    files.mount("/volume", volume)
    files.mount("/given", lambda: {"x/y": b"2"})
    files.write("/volume/b", b"3")
    assert volume.read("/b") == b"3"
    assert files.is_file("/given/x/y")
    assert [each for each in files.tree("/") if each.startswith(("/g", "/vo"))] == [
        "/given", "/given/x", "/given/x/y", "/volume", "/volume/b",
    ]  # fmt: skip
    with pytest.raises(FileError, match="Read-only"):
        files.remove("/given/x/y")
    with pytest.raises(FileError, match="busy"):
        files.remove("/volume")


def test_a_mount_hides_what_was_there() -> None:
    """The files below a mount are neither listed nor read, and a folder is none to write to, whatever is mounted."""
    files = Files({"/etc/a": "1", "/etc/b/c": "2"}, programs={"/bin/sh": b"x"})
    files.mount("/etc", lambda: {"x": b"3"})
    files.mount("/bin", Files(folders=("/",)))
    assert (files.listed("/etc"), files.listed("/bin"), files.exists("/etc/a")) == (["x"], [], False)
    assert files.tree("/etc") == ["/etc", "/etc/x"]
    with pytest.raises(FileError, match="Is a directory"):
        files.write("/etc", b"")


def test_links_in_archives_and_mounts() -> None:
    """Archives keep symbolic links; a link leads into what is mounted, and one in a volume is seen from all its mounts."""
    files, volume = Files(folders=("/",)), Files({"/data": "1"}, folders=("/",))
    files.mount("/volume", volume)
    files.link("volume/data", "/link")
    files.link("data", "/volume/inner")
    assert (files.read("/link"), files.read("/volume/inner"), volume.read("/inner")) == (b"1", b"1", b"1")
    other = Files(folders=("/",))
    unpack(UserFiles(other), packed(UserFiles(files), ["volume", "link"], "/"), "/copy")
    assert other.target("/copy/link") == "volume/data"
    assert (other.read("/copy/link"), other.read("/copy/volume/inner")) == (b"1", b"1")
    with pytest.raises(FileError, match="File exists"):
        files.link("x", "/link")
    files.remove("/link")
    assert files.read("/volume/data") == b"1"


_SHELLS_OF = (
    "for s in /bin/bash /bin/sh; do test -f $s && test -x $s && echo $s; done; command -v sh; ls /bin | grep -x tar"
)


def test_programs_are_files() -> None:
    """Clients look for a shell as a file before they use it, and find no bash in alpine."""
    cluster = simulated(1)
    for name, image in (("small", "alpine:3.20"), ("large", "example.com/tools:1")):
        cluster.create(pod(name, container={"image": image, "command": ["sleep", "1000"]}))
    cluster.settle()
    assert execute(cluster, "small", "sh", "-c", _SHELLS_OF) == (0, "/bin/sh\n/bin/sh\ntar\n")
    assert execute(cluster, "large", "sh", "-c", _SHELLS_OF) == (0, "/bin/bash\n/bin/sh\n/bin/sh\ntar\n")
    remove = "rm /bin/tar; test -e /bin/tar || echo gone; echo new > /bin/own; ls /bin | grep -x own"
    assert execute(cluster, "small", "sh", "-c", remove) == (0, "gone\nown\n")
    assert execute(cluster, "large", "sh", "-c", "ls /bin/tar") == (0, "/bin/tar\n")


def test_programs_start_in_the_working_folder() -> None:
    """The first process and every exec begin in the container's folder, which is made where the image has none."""
    cluster = simulated(1)
    script = "pwd > started; sleep 1000"
    cluster.create(pod("p", container={"workingDir": "/srv/app", "command": ["sh", "-c", script]}))
    cluster.settle()
    assert execute(cluster, "p", "pwd") == (0, "/srv/app\n")
    assert execute(cluster, "p", "cat", "started") == (0, "/srv/app\n")
    assert execute(cluster, "p", "sh", "-c", "cd ..; ls; cd -; echo $PWD") == (0, "app\n/srv/app\n/srv/app\n")
