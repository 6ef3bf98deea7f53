"""Images that kubelets remove to make room on a disk, before they evict pods.

Upstream: pkg/kubelet/images/image_gc_manager.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from simkit.logic.workloads.images import tagged
from simkit.meta.objects import Object, at

_FIELDS = ("initContainers", "containers", "ephemeralContainers")


class Removal(NamedTuple):
    """The images that stay on a node, and the bytes of those that go."""

    kept: list[Mapping[str, Any]]
    freed: int


def without_unused(node: Object, pods: Iterable[Object], wanted: int | None = None) -> Removal:
    """The images of a node without those that none of its pods uses.

    Parameters
    ----------
    wanted
        The bytes after which no further image is removed; None removes all that are not used.

    Examples
    --------
    >>> images = [{"names": ["a:1"], "sizeBytes": 5}, {"names": ["b:1"], "sizeBytes": 7}]
    >>> without_unused({"status": {"images": images}}, [{"spec": {"containers": [{"image": "a:1"}]}}])
    Removal(kept=[{'names': ['a:1'], 'sizeBytes': 5}], freed=7)
    """
    used = {_full(each.get("image", "")) for pod in pods for field in _FIELDS for each in at(pod, "spec", field) or ()}
    kept: list[Mapping[str, Any]] = []
    freed = 0
    for image in at(node, "status", "images") or ():
        enough = wanted is not None and freed >= wanted
        if enough or any(_full(name) in used for name in image.get("names") or ()):
            kept.append(image)
        else:
            freed += int(image.get("sizeBytes") or 0)
    return Removal(kept, freed)


def _full(image: str) -> str:
    """The name of an image with its tag, and without the registry that is meant where none is written."""
    return tagged(image.removeprefix("docker.io/").removeprefix("library/"))


def bytes_to_free(capacity: int, used: int, thresholds: tuple[int, int]) -> int:
    """The bytes that the removal of images is to free; 0 as long as the disk is not full enough.

    Examples
    --------
    >>> bytes_to_free(1000, 900, (85, 80)), bytes_to_free(1000, 800, (85, 80))
    (100, 0)
    """
    high, low = thresholds
    available = max(0, capacity - used)
    if not capacity or 100 - available * 100 // capacity < high:
        return 0
    return max(0, capacity * (100 - low) // 100 - available)


def failure(capacity: int, used: int, freed: int) -> str:
    """The message of a removal of images that freed too little."""
    share = 100 - max(0, capacity - used) * 100 // capacity
    return (
        f"Insufficient free disk space on the node's image filesystem ({share}% of {_size(capacity)} used). "
        f"Failed to free sufficient space by deleting unused images (freed {freed} bytes). "
        "Investigate disk usage, as it could be used by active images, logs, volumes, or other data."
    )


def _size(amount: int) -> str:
    """Bytes as the message has them: ``100.0 GiB``."""
    value, unit = float(amount), "B"
    for following in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, following
    return f"{value:.1f} {unit}" if unit != "B" else f"{amount} B"
