"""The table of resource quotas."""

from __future__ import annotations

import pytest

import simkit
from simkit.meta.message import Request

TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


@pytest.mark.parametrize(
    ("release", "columns"),
    [("1.32", ["Name", "Age", "Request", "Limit"]), ("1.33", ["Name", "Request", "Limit", "Age"])],
)
def test_the_age_comes_last_since_1_33(release: str, columns: list[str]) -> None:
    """The cells come in the order of their columns."""
    cluster = simkit.Cluster(seed=1, release=release)
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}}
    cluster.create(quota)
    path = "/api/v1/namespaces/default/resourcequotas"
    table = cluster.perform(Request.of("GET", path, headers=TABLE)).object
    assert [column["name"] for column in table["columnDefinitions"]] == columns
    (row,) = table["rows"]
    assert row["cells"][columns.index("Age")].endswith("s")


def test_a_long_name_of_a_manager_is_told_in_the_words_of_the_release() -> None:
    """As other texts that are too long."""
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    path = f"/api/v1/namespaces/default/configmaps?fieldManager={'a' * 129}"
    for release, told in (("1.30", "must have at most 128 bytes"), ("1.33", "may not be more than 128 bytes")):
        answer = simkit.Cluster(seed=1, release=release).perform(Request.of("POST", path, obj))
        assert told in answer.object["message"]
