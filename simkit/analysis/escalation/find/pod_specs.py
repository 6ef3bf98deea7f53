"""Specifications of pods, in pods and in the objects that make pods, and the service account that they name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from simkit.analysis.rbac.objects import PODS
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at

ACCOUNT: Final = "serviceAccountName"
DEFAULT: Final = "default"
"""The service account of pods that name none."""
_TEMPLATE: Final = ("spec", "template", "spec")
POD_SPECS: Final[Mapping[GroupResource, tuple[str, ...]]] = {
    PODS: ("spec",),
    GroupResource("", "replicationcontrollers"): _TEMPLATE,
    **{GroupResource("apps", one): _TEMPLATE for one in ("deployments", "daemonsets", "statefulsets", "replicasets")},
    GroupResource("batch", "jobs"): _TEMPLATE,
    GroupResource("batch", "cronjobs"): ("spec", "jobTemplate", *_TEMPLATE),
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
