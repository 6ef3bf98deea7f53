"""The images of one node, as its kubelet lists them.

Upstream: pkg/kubelet/nodestatus/setters.go (``Images``) and pkg/kubelet/kubelet_node_status.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from simkit.simulation.kubelet.image_references import full_name
from simkit.simulation.kubelet.images import image_name

MOST_LISTED: Final = 50
"""The most images that the status of a node lists."""
_MOST_NAMES: Final = 5
_USUAL: Final = 50_000_000
"""Bytes of an image of which nothing is known."""
_SIZES: Final[Mapping[str, int]] = {
    "alpine": 3_600_000, "bash": 6_400_000, "busybox": 2_160_000, "debian": 48_500_000, "httpd": 58_000_000,
    "mongo": 277_000_000, "mysql": 170_000_000, "nginx": 71_000_000, "node": 400_000_000, "pause": 320_000,
    "postgres": 155_000_000, "python": 360_000_000, "redis": 45_000_000, "ubuntu": 29_500_000,
}  # fmt: skip
"""Bytes of well-known images, as they are sent, rounded."""


def usual_size(image: str) -> int:
    """The bytes of an image, a guess for one that nobody has described.

    Examples
    --------
    >>> usual_size("docker.io/library/busybox:1.36"), usual_size("me/app")
    (2160000, 50000000)
    """
    return _SIZES.get(image_name(image), _USUAL)


class NodeImages:
    """The images of a node by full name.

    Attributes
    ----------
    complete
        Whether they are all that there is: a pod that forbids pulling finds no other.
    changed
        Whether the node does not list them yet.
    busy_until
        The end of the last pull: kubelets pull one image after the other.
    """

    def __init__(self, listed: Iterable[Mapping[str, Any]] = (), *, complete: bool = False) -> None:
        self._listed: dict[str, tuple[tuple[str, ...], int]] = {}
        self.complete, self.changed, self.busy_until = complete, False, 0.0
        for each in listed:
            names = tuple(each.get("names") or ())
            for name in names:
                self._listed[full_name(name)] = names, int(each.get("sizeBytes") or 0)

    def fork(self) -> NodeImages:
        """An independent copy."""
        copy = NodeImages(complete=self.complete)
        copy._listed, copy.changed, copy.busy_until = dict(self._listed), self.changed, self.busy_until
        return copy

    def __contains__(self, full: str) -> bool:
        return full in self._listed

    def add(self, full: str, size: int) -> None:
        """Keep an image that was pulled, by its full name, with its size in bytes."""
        if full not in self._listed:
            self._listed[full] = (full,), size
            self.changed = True

    def forget(self, listed: Iterable[Mapping[str, Any]]) -> None:
        """Forget images that were removed, given as the status of a node lists them."""
        gone = {full_name(name) for each in listed for name in each.get("names") or ()}
        self._listed = {full: each for full, each in self._listed.items() if full not in gone}

    def listed(self) -> Sequence[Mapping[str, Any]]:
        """The images as the status of a node has them: the largest first, at most 50."""
        different = sorted(set(self._listed.values()), key=lambda each: (-each[1], each[0]))
        return [{"names": list(names[:_MOST_NAMES]), "sizeBytes": size} for names, size in different[:MOST_LISTED]]
