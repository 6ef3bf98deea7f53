"""Policies, bindings and attempts for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.meta.domain import ADMISSION_GROUP
from simkit.meta.errors import StatusError
from simkit.meta.message import Request, Response

RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}


def policy(*validations: Any, name: str = "p", rule: Any = None, **spec: Any) -> dict[str, Any]:
    """A policy over config maps; a validation is an expression or a whole row."""
    rows = [{"expression": each} if isinstance(each, str) else each for each in validations]
    return {
        "apiVersion": f"{ADMISSION_GROUP}/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {"matchConstraints": {"resourceRules": [dict(rule or RULE)]}, "validations": rows, **spec},
    }


def binding(name: str = "b", of: str = "p", actions: Sequence[str] = ("Deny",), **spec: Any) -> dict[str, Any]:
    """A binding of a policy, everywhere."""
    return {
        "apiVersion": f"{ADMISSION_GROUP}/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": of, "validationActions": list(actions), **spec},
    }


def config_map(name: str = "a", namespace: str = "default", **more: Any) -> dict[str, Any]:
    """A config map; ``labels`` go into its metadata."""
    metadata = {"name": name, "namespace": namespace, "labels": more.pop("labels", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **more}


def with_policy(*objects: Any) -> Cluster:
    """A fresh cluster that holds these objects."""
    cluster = Cluster(seed=1)
    for obj in objects:
        cluster.create(obj)
    return cluster


def refusal(cluster: Cluster, obj: Any, **more: Any) -> StatusError:
    """The reason why the cluster refuses an object."""
    with pytest.raises(StatusError) as caught:
        cluster.create(obj, **more)
    return caught.value


def sent(cluster: Cluster, method: str, path: str, body: Any = None, **more: Any) -> Response:
    """The answer to a request of an administrator."""
    return cluster.perform(Request.of(method, path, body, **more))
