"""Lists of devices that are empty: messages tell them from missing ones, the store does not keep them."""

from __future__ import annotations

from typing import Any

import simkit
from simkit.meta.message import Request

PATH = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"


def test_an_empty_list_of_requests_is_no_change() -> None:
    """It is stored as none, and a claim that has requests may not lose them."""
    cluster = simkit.Cluster("1.36", seed=1)
    bare = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "a"}}
    made = cluster.create({**bare, "spec": {"devices": {"requests": []}}})
    assert made["spec"] == {"devices": {"requests": None}}
    patch = {"content-type": "application/merge-patch+json"}
    body: dict[str, Any] = {"spec": {"devices": {"requests": []}}}
    assert cluster.perform(Request.of("PATCH", f"{PATH}/a", body, headers=patch)).status == 200
    cluster.create(
        {
            **bare,
            "metadata": {"name": "b"},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}},
        }
    )
    refused = cluster.perform(Request.of("PATCH", f"{PATH}/b", body, headers=patch))
    assert '"Requests":[]' in refused.object["message"]
