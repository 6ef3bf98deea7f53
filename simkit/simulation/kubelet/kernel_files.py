"""Files of the kernel that a container sees: a little of ``/proc``, and its limits in ``/sys/fs/cgroup``.

References
----------
proc(5) of Linux; the kernel's documentation of control groups, version 2; pkg/kubelet/cm/helpers_linux.go, release 1.30
(how amounts become limits).
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Final

from simkit.engine.controllers.lister import uid_of
from simkit.meta.objects import Object, at
from simkit.meta.quantity import NANO, QuantityError, parse
from simkit.simulation.shell.files import Files, Source

_CPUS: Final = 8
_MEMORY: Final = (32_000_000, 28_000_000, 30_000_000)
"""Kilobytes of memory: all, free and available, as ``free`` tells them."""
_PERIOD: Final = 100_000
_LEAST_SHARES: Final = 2
_MOUNTED: Final = "overlay / overlay rw,relatime 0 0\nproc /proc proc rw,nosuid,nodev,noexec,relatime 0 0\n" + (
    "tmpfs /dev tmpfs rw,nosuid,size=65536k,mode=755 0 0\nsysfs /sys sysfs ro,nosuid,nodev,noexec,relatime 0 0\n"
    "cgroup /sys/fs/cgroup cgroup2 ro,nosuid,nodev,noexec,relatime 0 0\n"
)
_KERNEL: Final = "Linux version 6.1.0-simkit (simkit) #1 SMP\n"
_SETTINGS: Final[Mapping[str, str]] = {
    "vm/max_map_count": "65530",
    "vm/overcommit_memory": "0",
    "vm/swappiness": "60",
    "net/core/somaxconn": "4096",
    "net/ipv4/ip_forward": "1",
    "net/ipv4/ip_local_port_range": "32768\t60999",
    "net/ipv4/tcp_syncookies": "1",
    "fs/file-max": "9223372036854775807",
    "fs/inotify/max_user_watches": "249283",
    "fs/inotify/max_user_instances": "128",
    "kernel/ostype": "Linux",
    "kernel/osrelease": "6.1.0-simkit",
    "kernel/pid_max": "4194304",
    "kernel/msgmax": "8192",
    "kernel/shmmax": "18446744073692774399",
}
"""Settings of Linux 6.1 where nobody has changed them."""


def mount_kernel_files(files: Files, pod: Object, container: Mapping[str, Any]) -> None:
    """Show ``/proc`` and ``/sys/fs/cgroup`` in the files of a container; a privileged one may write settings."""
    privileged = bool((container.get("securityContext") or {}).get("privileged"))
    files.mount("/proc", Files(_proc(pod, container), ("/",)), read_only=not privileged)
    files.mount("/proc/sys/kernel/random", _random(uid_of(pod)))
    files.mount("/sys/fs/cgroup", _limits(container))


def _proc(pod: Object, container: Mapping[str, Any]) -> dict[str, bytes | str]:
    whole, free, available = _MEMORY
    told = {each.get("name", "").replace(".", "/"): each.get("value", "") for each in _told(pod)}
    mounts = "".join(f"volume {each['mountPath']} ext4 {'ro' if each.get('readOnly') else 'rw'},relatime 0 0\n"
                     for each in container.get("volumeMounts") or ())  # fmt: skip
    words = [*(container.get("command") or ()), *(container.get("args") or ())] or [str(container.get("image", ""))]
    return {
        "/mounts": _MOUNTED + mounts,
        "/self/mounts": _MOUNTED + mounts,
        "/1/cmdline": "".join(f"{word}\0" for word in words),
        "/1/comm": f"{words[0].rpartition('/')[2][:15]}\n",
        "/cpuinfo": "".join(f"processor\t: {number}\nmodel name\t: simulated\n\n" for number in range(_CPUS)),
        "/meminfo": f"MemTotal:       {whole} kB\nMemFree:        {free} kB\nMemAvailable:   {available} kB\n",
        "/version": _KERNEL,
        "/loadavg": "0.00 0.00 0.00 1/100 10\n",
        "/filesystems": "nodev\tproc\nnodev\toverlay\n\text4\n",
        **{f"/sys/{name}": f"{value}\n" for name, value in {**_SETTINGS, **told}.items()},
        "/sys/kernel/hostname": f"{at(pod, 'spec', 'hostname') or at(pod, 'metadata', 'name') or ''}\n",
    }


def _told(pod: Object) -> Any:
    return at(pod, "spec", "securityContext", "sysctls") or ()


def _random(seed: str) -> Source:
    """A source whose ``uuid`` is another one at each look."""
    looks = 0

    def shown() -> Mapping[str, bytes]:
        nonlocal looks
        looks += 1
        made = uuid.uuid5(uuid.NAMESPACE_OID, f"{seed}/{looks}")
        return {"uuid": f"{made}\n".encode(), "boot_id": f"{uuid.uuid5(uuid.NAMESPACE_OID, 'node')}\n".encode()}

    return shown


def _limits(container: Mapping[str, Any]) -> Source:
    """The limits of a container in the files of control groups, version 2."""
    cpu, memory = (_amount(container, "limits", name) for name in ("cpu", "memory"))
    asked = _amount(container, "requests", "cpu")
    asked = cpu if asked is None else asked
    shares = max(_LEAST_SHARES, (asked or 0) * 1024 // NANO)
    quota = f"{max(1000, cpu * _PERIOD // NANO)}" if cpu else "max"
    shown = {
        "cpu.max": f"{quota} {_PERIOD}\n",
        "cpu.weight": f"{1 + (shares - 2) * 9999 // 262_142}\n",
        "memory.max": f"{memory // NANO}\n" if memory else "max\n",
        "memory.swap.max": "0\n",
        "pids.max": "max\n",
        "cgroup.controllers": "cpuset cpu io memory hugetlb pids\n",
    }
    data = {name: text.encode() for name, text in shown.items()}
    return lambda: data


def _amount(container: Mapping[str, Any], kind: str, name: str) -> int | None:
    """Billionths of an amount of a resource; None where it is not said."""
    text = at(container, "resources", kind, name)
    if text is None:
        return None
    try:
        return parse(str(text)).nano
    except QuantityError:
        return None
