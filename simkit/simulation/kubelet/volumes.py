"""The volumes of pods as files in their containers, with modes and owners."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from simkit.client.lister import uid_of
from simkit.client.resources import CONFIG_MAPS, SECRETS
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, name_of, namespace_of
from simkit.simulation.kubelet.environment import Get, content, listed_fields, resource_value
from simkit.simulation.kubelet.shell import owner_of_tokens
from simkit.simulation.shell.files import Files, Source
from simkit.simulation.shell.machine import CLUSTER_DOMAIN, RESOLVER, SERVICE_DOMAIN
from simkit.simulation.shell.paths import FILE_MODE, FOLDER_MODE, ROOT, SETGID, Mark

# The modes and owners of what volumes show.
# Upstream: pkg/volume/volume_linux.go, pkg/volume/util/atomic_writer.go and pkg/volume/projected, release 1.30.

_SHARED: Final = 0o777
_TOP: Final = 0o1777
"""The mode of the folder of config maps, secrets and the like."""
_FOR_GROUP: Final = 0o660
_READ_BY_GROUP: Final = 0o440
_ENTERED_BY_GROUP: Final = 0o110
_PRIVATE: Final = 0o600
_KINDS: Final = ("configMap", "secret", "downwardAPI")


def _group(pod: Object) -> int | None:
    found = at(pod, "spec", "securityContext", "fsGroup")
    return None if found is None else int(found)


def folder_mark(volume: Mapping[str, Any]) -> Mark:
    """The mark of the folder of a new volume that pods write to.

    A path of a node is root's. An ``emptyDir`` is open to all, and so is a new claim, as the provisioners of local
    clusters make it (kind, k3s, minikube).
    """
    return Mark(FOLDER_MODE if "hostPath" in volume else _SHARED)


def give_to_group(tree: Files, pod: Object, volume: Mapping[str, Any]) -> None:
    """Give a volume with all that is in it to the group of the pod's volumes (``fsGroup``), which may write there.

    A path of a node stays as it is, and with the policy ``OnRootMismatch`` a volume whose folder is the group's.
    """
    group = _group(pod)
    if group is None or "hostPath" in volume:
        return
    policy, top = at(pod, "spec", "securityContext", "fsGroupChangePolicy"), tree.mark("/")
    if policy == "OnRootMismatch" and top == _of_group(top, group, folder=True):
        return
    for path in tree.tree("/"):
        tree.set_mark(path, _of_group(tree.mark(path), group, folder=tree.is_folder(path)))


def _of_group(mark: Mark, group: int, *, folder: bool) -> Mark:
    return mark._replace(mode=mark.mode | _FOR_GROUP | (SETGID | _ENTERED_BY_GROUP if folder else 0), gid=group)


class VolumeModes:
    """The modes of the files of config maps, secrets, fields and tokens."""

    def __init__(self, pod: Object, volume: Mapping[str, Any]) -> None:
        self._pod, self._volume = pod, volume

    def mark(self, path: str) -> Mark:
        """The mark of a file by its path in the volume, which is empty for the folder; other paths are folders."""
        group = _group(self._pod)
        known = self._known().get(path)
        if known is None:
            known = Mark(FOLDER_MODE if path else _TOP) if self._is_folder(path) else Mark(self._usual())
        if group is None:
            return known
        added = _READ_BY_GROUP | (SETGID | _ENTERED_BY_GROUP if self._is_folder(path) else 0)
        return known._replace(mode=known.mode | added, gid=group)

    def _usual(self) -> int:
        kind = next((self._volume[name] for name in (*_KINDS, "projected") if name in self._volume), None) or {}
        mode = kind.get("defaultMode")
        return FILE_MODE if mode is None else int(mode)

    def _sources(self) -> Iterator[Mapping[str, Any]]:
        yield from at(self._volume, "projected", "sources") or (self._volume,)

    def _known(self) -> Mapping[str, Mark]:
        """The marks of files that have one of their own."""
        found = {
            str(item.get("path", "")): Mark(int(item["mode"]))
            for source in self._sources()
            for kind in _KINDS
            for item in (source.get(kind) or {}).get("items") or ()
            if item.get("mode") is not None
        }
        owner = owner_of_tokens(self._pod)
        for source in self._sources():
            token = source.get("serviceAccountToken")
            if token and (owner is not None or _group(self._pod) is not None):
                found[str(token.get("path", "token"))] = Mark(_PRIVATE, owner or 0)
        return found

    def _is_folder(self, path: str) -> bool:
        """True for the folder of the volume, and for those that the paths of items lead through."""
        items = (
            str(item.get("path", ""))
            for source in self._sources()
            for kind in _KINDS
            for item in (source.get(kind) or {}).get("items") or ()
        )
        return not path or any(each.startswith(f"{path}/") for each in items)


# The volumes of pods as files in their containers.
# Config maps, secrets and fields are read when a program looks at them, so that a change is seen at once. Other volumes
# are file trees in memory, which outlive their pod where they are claims.
# Upstream: pkg/volume/{configmap,secret,downwardapi,projected}, release 1.30.

_SOURCES: Final = ("configMap", "secret", "downwardAPI", "projected")
Token = Callable[[Object, Mapping[str, Any]], bytes]
"""A token of a pod's service account, for a source of a projected volume."""


class Volumes:
    """The file trees of volumes, by what they belong to.

    Parameters
    ----------
    get
        Finds config maps and secrets.
    token
        Issues tokens of service accounts.
    """

    def __init__(self, get: Get, token: Token) -> None:
        self._get, self._token = get, token
        self._trees: dict[tuple[str, ...], Files] = {}

    def mount(self, files: Files, pod: Object, container: Mapping[str, Any]) -> None:
        """Show the volumes of a pod in the files of a container, and what a kubelet writes into each."""
        files.mount("/etc/hostname", lambda: {"": f"{_hostname(pod)}\n".encode()})
        files.mount("/etc/hosts", lambda: {"": _hosts(pod)})
        files.mount("/etc/resolv.conf", lambda: {"": _resolver(pod)})
        volumes = {each.get("name"): each for each in at(pod, "spec", "volumes") or ()}
        for mount in container.get("volumeMounts") or ():
            volume = volumes.get(mount.get("name"))
            if volume is not None:
                inner, read_only = mount.get("subPath") or "", bool(mount.get("readOnly"))
                tree, mark = self._tree(pod, volume, inner), partial(_mark_of, VolumeModes(pod, volume), inner)
                files.mount(mount.get("mountPath", "/"), tree, read_only=read_only, mark=mark)

    def forget(self, pod: Object) -> None:
        """Forget the volumes that end with a pod."""
        for key in [key for key in self._trees if key[:2] == ("pod", uid_of(pod))]:
            del self._trees[key]

    def _tree(self, pod: Object, volume: Mapping[str, Any], inner: str) -> Files | Source:
        if any(kind in volume for kind in _SOURCES):
            return self._source(pod, volume, inner)
        key = (*_owner(pod, volume), inner)
        if key not in self._trees:
            made = self._trees[key] = Files(folders=ROOT if key[0] == "host" else ("/",))
            made.set_mark("/", folder_mark(volume))
        give_to_group(self._trees[key], pod, volume)
        return self._trees[key]

    def _source(self, pod: Object, volume: Mapping[str, Any], inner: str) -> Source:
        issued: dict[str, bytes] = {}
        if not inner:
            return lambda: self._shown(pod, volume, issued)
        found = self._shown(pod, volume, issued)  # what is mounted by subPath does not change any more
        below = {name[len(inner) + 1 :]: text for name, text in found.items() if name.startswith(f"{inner}/")}
        shown = {"": found[inner]} if inner in found else below
        return lambda: shown

    def _shown(self, pod: Object, volume: Mapping[str, Any], issued: dict[str, bytes]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for source in at(volume, "projected", "sources") or (volume,):
            if source.get("configMap"):
                found |= self._content(pod, CONFIG_MAPS, source["configMap"])
            if source.get("secret"):
                found |= self._content(pod, SECRETS, source["secret"])
            for item in at(source, "downwardAPI", "items") or ():
                found[item.get("path", "")] = _field(pod, item).encode()
            if source.get("serviceAccountToken"):
                path = source["serviceAccountToken"].get("path", "token")
                if path not in issued:
                    issued[path] = self._token(pod, source["serviceAccountToken"])
                found[path] = issued[path]
        return found

    def _content(self, pod: Object, resource: GroupResource, source: Mapping[str, Any]) -> dict[str, bytes]:
        name = source.get("name") or source.get("secretName") or ""
        found = content(self._get(Key(resource, namespace_of(pod), name)))
        items: Sequence[Mapping[str, Any]] = source.get("items") or ()
        if not items:
            return found
        return {item.get("path", ""): found[item["key"]] for item in items if item.get("key") in found}


def _mark_of(modes: VolumeModes, inner: str, path: str) -> Mark:
    """The mark of a path of a volume, of which a part may be mounted."""
    return modes.mark(f"{inner}/{path.lstrip('/')}".strip("/"))


def _field(pod: Object, item: Mapping[str, Any]) -> str:
    if item.get("resourceFieldRef"):
        return resource_value(pod, {}, item["resourceFieldRef"])
    return listed_fields(pod, at(item, "fieldRef", "fieldPath") or "")


def _owner(pod: Object, volume: Mapping[str, Any]) -> tuple[str, ...]:
    """The thing with which a volume lives: a claim, a path of a node, or the pod."""
    name = str(volume.get("name", ""))
    if volume.get("persistentVolumeClaim"):
        return "claim", namespace_of(pod), str(volume["persistentVolumeClaim"].get("claimName", ""))
    if volume.get("hostPath"):
        return "host", str(at(pod, "spec", "nodeName") or ""), str(volume["hostPath"].get("path", ""))
    return "pod", uid_of(pod), name


def _hostname(pod: Object) -> str:
    return str(at(pod, "spec", "hostname") or name_of(pod))[:63]


def _hosts(pod: Object) -> bytes:
    lines = ["# Kubernetes-managed hosts file.", "127.0.0.1\tlocalhost", "::1\tlocalhost ip6-localhost ip6-loopback"]
    address, subdomain = at(pod, "status", "podIP") or "", at(pod, "spec", "subdomain")
    names = _hostname(pod)
    if subdomain:
        names = f"{names}.{subdomain}.{namespace_of(pod)}.{SERVICE_DOMAIN}\t{names}"
    lines.append(f"{address}\t{names}")
    aliases = at(pod, "spec", "hostAliases") or ()
    if aliases:
        lines += ["", "# Entries added by HostAliases."]
        lines += [f"{each.get('ip')}\t{' '.join(each.get('hostnames') or ())}".replace(" ", "\t") for each in aliases]
    return ("\n".join(lines) + "\n").encode()


def _resolver(pod: Object) -> bytes:
    namespace = namespace_of(pod)
    search = f"search {namespace}.{SERVICE_DOMAIN} {SERVICE_DOMAIN} {CLUSTER_DOMAIN}"
    return f"{search}\nnameserver {RESOLVER}\noptions ndots:5\n".encode()
