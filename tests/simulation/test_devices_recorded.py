"""Devices against answers of kube-scheduler: random slices, classes, rules, claims and pods, and what it made of them.

``recorded/devices-X.Y.json`` holds worlds in the form of ``device_worlds.py``. kube-controller-manager ran beside the
scheduler, with the controllers of claims, of tainted devices and of garbage; no kubelets did.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.simulation.device_worlds import replay

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parent / "recorded"


def worlds() -> Iterator[Any]:
    """All recorded worlds."""
    for path in sorted(FOLDER.glob("devices-*.json")):
        release = path.stem.removeprefix("devices-")
        for world in json.loads(path.read_text(encoding="utf-8")):
            yield pytest.param(release, world, id=f"{release}-{world['world']}")


@pytest.mark.parametrize(("release", "world"), list(worlds()))
def test_pods_get_the_devices_that_kube_scheduler_gave_them(release: str, world: dict[str, Any]) -> None:
    """The same pods get a node, with the same devices and configuration; the others are told the same."""
    assert list(replay(world, release)) == []
