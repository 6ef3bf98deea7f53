"""Specifications of pods: where objects have them, the service account that they name, and escapes to the node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from simkit.analysis.escalation.table.primitive import primitives
from simkit.analysis.rbac.objects import PODS
from simkit.logic.podsecurity.evaluate import POD_TEMPLATES
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at
from simkit.meta.podspec import containers_of

ACCOUNT: Final = "serviceAccountName"
DEFAULT: Final = "default"
"""The service account of pods that name none."""
POD_SPECS: Final[Mapping[GroupResource, tuple[str, ...]]] = {
    PODS: ("spec",),
    **{each: (*path, "spec") for each, path in POD_TEMPLATES.items() if each.resource != "podtemplates"},
}
"""The resources whose objects run pods, with the path to the specification of the pods."""


def account_named(obj: Object, path: tuple[str, ...] = ("spec",)) -> str:
    """The name of the service account that the pods of an object run as: of a pod, or with the path of what makes pods.

    Examples
    --------
    >>> account_named({"kind": "Pod", "spec": {}})
    'default'
    """
    return at(obj, *path, ACCOUNT) or DEFAULT


Specification = Mapping[str, Any]
_ESCAPING: Final = {"SYS_ADMIN", "SYS_MODULE", "DAC_READ_SEARCH", "SYS_RAWIO", "ALL"}
_TRACING: Final = {"SYS_PTRACE", "SYS_ADMIN", "ALL"}
_SOCKETS: Final = ("docker.sock", "containerd.sock", "crio.sock", "cri-dockerd.sock")
_LEADING: Final = ("/etc", "/proc", "/root", "/var", "/var/lib", "/var/lib/kubelet", "/run", "/var/run", "/sys", "/dev")
_BELOW: Final = ("/etc/kubernetes", "/var/lib/kubelet/pods", "/var/lib/kubelet/pki", "/var/lib/etcd", "/root/")


class Escape(NamedTuple):
    """A primitive of the K list, and the part of the specification that allows it."""

    primitive: str
    because: str


def escapes_of(pod: Object) -> tuple[Escape, ...]:
    """The escapes from a pod to its node.

    Examples
    --------
    >>> escapes_of({"spec": {"containers": [{"name": "c", "securityContext": {"privileged": True}}]}})
    (Escape(primitive='K1', because='container c is privileged'),)
    """
    spec = at(pod, "spec") or {}
    found = ((condition, because) for condition, finder in _FINDERS.items() for because in finder(spec))
    return tuple(dict.fromkeys(Escape(_primitive(condition), because) for condition, because in found))


@cache
def _primitive(condition: str) -> str:
    return primitives().with_condition(condition).id


def _added(container: Specification) -> set[str]:
    added = at(container, "securityContext", "capabilities", "add") or ()
    return {name.upper().removeprefix("CAP_") for name in added}


def _is_privileged(container: Specification) -> bool:
    return bool(at(container, "securityContext", "privileged"))


def _host_processes(spec: Specification) -> Iterator[str]:
    for one in containers_of(spec) if spec.get("hostPID") else ():
        if (added := _added(one) & _TRACING) or _is_privileged(one):
            yield f"hostPID with {', '.join(sorted(added)) or 'privileged'} in container {one.get('name')}"


def _host_paths(spec: Specification) -> Iterator[tuple[str, bool]]:
    """The mounted paths of the host, and whether a container may write them."""
    for volume in spec.get("volumes") or ():
        path = at(volume, "hostPath", "path")
        if path is None:
            continue
        mounts = [
            mount
            for container in containers_of(spec)
            for mount in container.get("volumeMounts") or ()
            if mount.get("name") == volume.get("name")
        ]
        if mounts:
            yield path.rstrip("/") or "/", any(not mount.get("readOnly") for mount in mounts)


def _leading_paths(spec: Specification) -> Iterator[str]:
    for path, writable in _host_paths(spec):
        if path == "/" or path.startswith(_BELOW) or (path in _LEADING and writable):
            yield f"hostPath {path}"


def _capabilities(spec: Specification) -> Iterator[str]:
    for one in containers_of(spec):
        for name in sorted(_added(one) & _ESCAPING):
            yield f"capability {name} in container {one.get('name')}"


def _host_process(spec: Specification) -> Iterator[str]:
    wide = at(spec, "securityContext", "windowsOptions", "hostProcess")
    for one in containers_of(spec):
        if at(one, "securityContext", "windowsOptions", "hostProcess") or wide:
            yield f"hostProcess in container {one.get('name')}"


_FINDERS: Final[Mapping[str, Callable[[Specification], Iterator[str]]]] = {
    "pod-privileged": lambda spec: (
        f"container {one.get('name')} is privileged" for one in filter(_is_privileged, containers_of(spec))
    ),
    "pod-host-processes": _host_processes,
    "pod-host-path": _leading_paths,
    "pod-capability": _capabilities,
    "pod-host-process": _host_process,
    "pod-git-repo": lambda spec: (
        f"gitRepo volume {one.get('name')}" for one in spec.get("volumes") or () if one.get("gitRepo")
    ),
    "pod-runtime-socket": lambda spec: (f"hostPath {path}" for path, _ in _host_paths(spec) if path.endswith(_SOCKETS)),
}
