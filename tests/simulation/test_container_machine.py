"""What a container tells of its machine, its network and its users."""

from __future__ import annotations

import json

import pytest

from simkit.cluster.cluster import Cluster
from tests.simulation.test_tools import real
from tests.simulation.worlds import execute, pod, simulated

RESOURCES = {"limits": {"cpu": "500m", "memory": "64Mi"}, "requests": {"cpu": "250m"}}


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    """Pods of several images: one with limits, one privileged, and one of an ordinary user."""
    made = simulated(1)
    container = {"resources": RESOURCES}
    made.create(pod("alpine", image="alpine:3.20.3", command=["sleep", "9999"], container=container))
    made.create(pod("debian", image="debian:bookworm-slim", command=["sleep", "9999"]))
    made.create(pod("privileged", image="ubuntu:22.04", command=["sleep", "9999"],
                    container={"securityContext": {"privileged": True}}))  # fmt: skip
    made.create(pod("user", image="busybox", command=["sleep", "9999"], securityContext={"runAsUser": 1000}))
    made.create(pod("server", image="example/server:1", container={"ports": [{"containerPort": 8080}]}))
    made.settle()
    return made


def told(cluster: Cluster, script: str, name: str = "alpine") -> str:
    """What a script prints, which ends well."""
    code, text = execute(cluster, name, "sh", "-c", script)
    assert code == 0, text
    return text


def test_addresses(cluster: Cluster) -> None:
    """``ip`` tells the address of the pod, in text, in one line and in JSON."""
    address = cluster.get("pod", "alpine")["status"]["podIP"]
    assert f"    inet {address}/24 brd 10.244.0.255 scope global eth0" in told(cluster, "ip addr").splitlines()
    assert told(cluster, "ip -4 -o addr show eth0 | awk '{print $4}'") == f"{address}/24\n"
    assert told(cluster, "ip a s eth0 | grep -c inet") == "1\n"
    assert told(cluster, "ip -br a").split()[:3] == ["lo", "UNKNOWN", "127.0.0.1/8"]
    found = json.loads(told(cluster, "ip -j addr"))
    assert found[1]["addr_info"][0]["local"] == address
    assert told(cluster, "hostname -i; hostname -I") == f"{address}\n{address} \n"
    assert told(cluster, "ifconfig eth0 | grep 'inet addr'").split()[1] == f"addr:{address}"
    assert execute(cluster, "alpine", "ip", "link", "show", "eth9")[0] == 1
    assert execute(cluster, "alpine", "ip", "link", "set", "eth0", "down")[0] == 2


def test_routes(cluster: Cluster) -> None:
    """The node's range is near, and everything else behind its first address."""
    address = cluster.get("pod", "alpine")["status"]["podIP"]
    assert told(cluster, "ip route").splitlines() == [
        "default via 10.244.0.1 dev eth0 ", f"10.244.0.0/24 dev eth0 proto kernel scope link src {address} ",
    ]  # fmt: skip
    assert told(cluster, "ip r get 10.96.0.1 | head -n1").startswith("10.96.0.1 via 10.244.0.1 dev eth0 src")
    assert told(cluster, "ip route get 10.244.0.9 | head -n1").startswith("10.244.0.9 dev eth0 src")
    assert "10.244.0.1" in told(cluster, "route -n")


def test_listening(cluster: Cluster) -> None:
    """The ports of the program, which the pod names, and those of commands."""
    assert told(cluster, "netstat -tln | grep -c :8080", "server") == "1\n"
    assert told(cluster, "ss -tln | tail -n +2 | awk '{print $4}'", "server") == "0.0.0.0:8080\n"
    assert told(cluster, "netstat -tln | wc -l") == "2\n"


def test_distributions(cluster: Cluster) -> None:
    """``/etc/os-release`` and the users are those of the image."""
    assert (
        told(cluster, ". /etc/os-release; echo $ID $VERSION_ID; cat /etc/alpine-release") == "alpine 3.20.3\n3.20.3\n"
    )
    assert told(cluster, ". /etc/os-release; echo $ID $VERSION_CODENAME", "debian") == "debian bookworm\n"
    assert told(cluster, "grep ^VERSION_ID= /etc/os-release", "privileged") == 'VERSION_ID="22.04"\n'
    assert execute(cluster, "server", "cat", "/etc/os-release")[0] == 1
    assert told(cluster, "getent passwd www-data; id -u www-data", "debian").startswith("www-data:x:33:33:")
    assert told(cluster, "touch /f; chown www-data: /f; stat -c %U:%u /f", "debian") == "www-data:33\n"


def test_limits(cluster: Cluster) -> None:
    """A container reads its limits in its control group."""
    assert told(cluster, "cat /sys/fs/cgroup/cpu.max /sys/fs/cgroup/memory.max") == "50000 100000\n67108864\n"
    assert told(cluster, "cat /sys/fs/cgroup/memory.max", "debian") == "max\n"
    assert execute(cluster, "alpine", "sh", "-c", "echo max > /sys/fs/cgroup/memory.max")[0] != 0
    first, second = told(cluster, "cat /proc/sys/kernel/random/uuid /proc/sys/kernel/random/uuid").split()
    assert first != second


def test_settings_of_the_kernel(cluster: Cluster) -> None:
    """Only a privileged container changes them, and sees messages of the kernel, of which there are none."""
    assert told(cluster, "sysctl vm.max_map_count; sysctl -n net.core.somaxconn") == "vm.max_map_count = 65530\n4096\n"
    assert execute(cluster, "alpine", "sysctl", "-w", "vm.max_map_count=262144")[0] == 1
    assert told(cluster, "sysctl -w vm.max_map_count=262144; cat /proc/sys/vm/max_map_count", "privileged") == (
        "vm.max_map_count = 262144\n262144\n"
    )
    assert execute(cluster, "alpine", "dmesg")[0] == 1
    assert told(cluster, "dmesg", "privileged") == ""
    assert told(cluster, "nsenter -t 1 -m -u -- hostname", "privileged") == "privileged\n"
    assert execute(cluster, "alpine", "nsenter", "-t", "1", "-m", "id")[0] == 1
    assert told(cluster, "mount | head -n1") == "overlay on / type overlay (rw,relatime)\n"
    assert told(cluster, "mountpoint -q /proc && echo yes") == "yes\n"


def test_other_users(cluster: Cluster) -> None:
    """Root becomes any user, whose rights hold then; others become nobody."""
    assert told(cluster, "runuser -u nobody -- id -un", "debian") == "nobody\n"
    assert told(
        cluster, "su -s /bin/sh nobody -c 'id -u; echo $HOME; cat /root/x 2>&1; touch /x 2>&1'; true", "debian"
    ) == ("65534\n/nonexistent\ncat: can't open '/root/x': Permission denied\ntouch: /x: Permission denied\n")
    assert told(cluster, "su - root -c pwd", "debian") == "/root\n"
    assert (
        told(cluster, "setpriv --reuid=1000 --regid 1000 --clear-groups id", "debian")
        == "uid=1000 gid=1000 groups=1000\n"
    )
    assert execute(cluster, "user", "su", "root", "-c", "id")[0] == 1
    assert execute(cluster, "debian", "su", "nobody", "-c", "id")[0] == 1, "its shell is nologin"
    assert execute(cluster, "debian", "su", "stranger")[0] == 1


def test_new_users(cluster: Cluster) -> None:
    """Users and groups that a script adds are there, with their homes."""
    assert (
        told(cluster, "addgroup -g 2000 staff2 && adduser -D -u 2000 -G staff2 ann && su ann -c 'id; pwd; ls -ld ~'")
        != ""
    )
    assert told(cluster, "id -un ann; stat -c %U /home/ann; getent group staff2") == "ann\nann\nstaff2:x:2000:\n"
    assert told(cluster, "useradd -m -u 1500 bob; su bob -c 'echo $USER $HOME'", "debian") == "bob /home/bob\n"
    assert execute(cluster, "debian", "useradd", "bob")[0] == 9
    assert told(cluster, "userdel bob; getent passwd bob; echo $?", "debian") == "2\n"


def test_processes(cluster: Cluster) -> None:
    """``ps`` in the forms that scripts read."""
    assert told(cluster, "ps aux | grep -c '[s]leep 9999'") == "1\n"
    assert told(cluster, "ps -o pid,comm | head -n2") == "    PID COMMAND\n      1 sleep\n"
    assert told(cluster, "ps -p 1 -o args=") == "sleep 9999\n"
    assert told(cluster, "ps -ef | awk '$2 == 1 {print $8}'") == "sleep\n"
    assert told(cluster, "top -bn1 | grep -c '[s]leep'") == "1\n"
    assert (
        told(cluster, "tty; factor 12 97; arch; who; stty size 2> /dev/null; true")
        == "not a tty\n12: 2 2 3\n97: 97\nx86_64\n"
    )


def test_factors(tmp_path_factory: pytest.TempPathFactory, cluster: Cluster) -> None:
    """As GNU's program finds them."""
    script = "factor 1 2 360 9973 1000000"
    assert (0, told(cluster, script)) == real(script, tmp_path_factory.mktemp("factor"))
