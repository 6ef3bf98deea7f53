"""Objects of a cluster as approval files: what a test run left is compared with what somebody has approved."""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

import yaml

from simkit.cluster.cluster import Cluster
from simkit.meta.objects import Object, metadata
from simkit.meta.whole_file import write_whole

APPROVE: Final = "SIMKIT_APPROVE"
"""The environment variable that has files written instead of compared."""
_VOLATILE: Final = frozenset(
    {"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink", "deletionTimestamp"}
)


def stable(obj: Object, *, status: bool = False) -> dict[str, Any]:
    """An object without what is another each time: identity, versions and times, and its status unless asked for.

    Examples
    --------
    >>> stable({"kind": "A", "metadata": {"name": "a", "uid": "1"}, "status": {}})
    {'kind': 'A', 'metadata': {'name': 'a'}}
    """
    kept = {name: value for name, value in metadata(obj).items() if name not in _VOLATILE}
    return {name: kept if name == "metadata" else value for name, value in obj.items() if status or name != "status"}


def snapshot_text(cluster: Cluster, resources: Collection[str], *, namespace: str | None = None) -> str:
    """The objects of some resources as YAML documents, in order."""
    found = [stable(each) for word in resources for each in cluster.list(word, namespace)]
    return yaml.safe_dump_all(found, sort_keys=True, default_flow_style=False)


def assert_approved(
    cluster: Cluster, path: str | Path, resources: Collection[str], *, namespace: str | None = None
) -> None:
    """Raise AssertionError with the differences unless objects are as an approval file has them.

    A file that is not there is written, and so is every file while the environment variable SIMKIT_APPROVE is set.
    """
    text, file = snapshot_text(cluster, resources, namespace=namespace), Path(path)
    if os.environ.get(APPROVE) or not file.exists():
        write_whole(file, text)
        return
    approved = file.read_text(encoding="utf-8")
    if text != approved:
        lines = difflib.unified_diff(approved.splitlines(), text.splitlines(), str(file), "cluster", lineterm="")
        raise AssertionError("\n".join(["the objects are not as approved; SIMKIT_APPROVE=1 approves them:", *lines]))
