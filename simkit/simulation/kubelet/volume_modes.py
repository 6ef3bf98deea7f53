"""The modes and owners of what volumes show.

Upstream: pkg/volume/volume_linux.go, pkg/volume/util/atomic_writer.go and pkg/volume/projected, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from simkit.meta.objects import Object, at
from simkit.simulation.kubelet.users import owner_of_tokens
from simkit.simulation.shell.files import Files
from simkit.simulation.shell.marks import FILE_MODE, FOLDER_MODE, SETGID, Mark

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
