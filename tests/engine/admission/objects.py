"""Objects that admission tests write, and how they are written."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.meta.errors import StatusError
from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response


def pod(name: str = "p", *, annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """A pod with one container, and whatever else is given for its spec."""
    meta: dict[str, Any] = {"name": name, **({"annotations": annotations} if annotations else {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {"containers": [{"name": "c", "image": "i"}], **spec},
    }


def container(**more: Any) -> dict[str, Any]:
    """One container."""
    return {"name": "c", "image": "i", **more}


def obj(api_version: str, kind: str, name: str, **more: Any) -> dict[str, Any]:
    """Any object; fields of metadata are given as ``meta``."""
    meta = {"name": name, **more.pop("meta", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **more}


def refusal(cluster: simkit.Cluster, what: dict[str, Any], *, identity: Identity | None = None) -> StatusError:
    """The error with which a creation is refused."""
    with pytest.raises(StatusError) as caught:
        cluster.create(what, identity=identity)
    return caught.value


def change(cluster: simkit.Cluster, path: str, body: Any, *, identity: Identity | None = None) -> Response:
    """The answer to a merge patch."""
    request = Request.of("PATCH", path, body, content_type="application/merge-patch+json")
    return cluster.perform(request, identity=identity)
