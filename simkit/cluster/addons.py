"""The workloads in ``kube-system`` that clusters have from the start, so that clients find what they look for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import yaml

from simkit.client.requests import path_of
from simkit.cluster.extensions import performing
from simkit.meta import datasets
from simkit.meta.domain import SYSTEM_NAMESPACE
from simkit.meta.errors import SimkitError
from simkit.meta.identity import administrator
from simkit.meta.message import Request
from simkit.meta.names import GroupResource

if TYPE_CHECKING:
    from simkit.cluster.control_plane import ControlPlane

ADDONS: Final = ("coredns", "kube-proxy")
"""The addons that are known: the files of ``datasets/addons``."""
_THERE: Final = 409
_INVALID: Final = 422


def add_addons(made: ControlPlane, names: Sequence[str]) -> None:
    """Create the objects of addons; those that are there already stay as they are.

    Raises
    ------
    SimkitError
        For an addon that is not known, or an object that is refused.
    """
    for name in names:
        if name not in ADDONS:
            raise SimkitError(f"no addon {name!r}; there are {', '.join(ADDONS)}")
        for wanted in yaml.safe_load_all(datasets.path(f"addons/{name}.yaml").read_text(encoding="utf-8")):
            _create(made, wanted)


def _create(made: ControlPlane, wanted: Any) -> None:
    """Create an object. A service whose address is in another range than that of the cluster gets a free one."""
    group = wanted["apiVersion"].rpartition("/")[0]
    path = path_of(GroupResource(group, f"{wanted['kind'].lower()}s"), SYSTEM_NAMESPACE)
    response = performing(made.engine)(Request.of("POST", path, wanted), administrator())
    if response.status == _INVALID and wanted["spec"].pop("clusterIP", None):
        response = performing(made.engine)(Request.of("POST", path, wanted), administrator())
    if not response.succeeded and response.status != _THERE:
        raise SimkitError(
            f"{wanted['kind']} {wanted['metadata']['name']} cannot be made: {response.object['message']}; "
            'start without addons (--addons "")'
        )
