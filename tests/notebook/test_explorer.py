"""The explorer shows kinds, objects, and of one object everything that the cluster knows of it."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.notebook import Explorer, explore


@pytest.fixture(scope="module")
def cluster() -> simkit.Cluster:
    """A cluster with a deployment whose controllers have come to rest, and an event."""
    made = simkit.Cluster(seed=1)
    made.settle()
    made.apply(DEPLOYMENT)
    made.settle()
    return made


DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "<nginx>"}]}
"""


def shown(cluster: simkit.Cluster) -> Explorer:
    made = explore(cluster)
    made.wait()
    return made


def section(explorer: Explorer, name: str) -> None:
    """Turn to a section, and wait for what it finds."""
    explorer.sections.chosen = name
    explorer.wait()


def choose(pages: Any, column: str, value: str) -> None:
    """Choose the first row with this value."""
    pages.choose(pages.rows[column].tolist().index(value))


def test_kinds_and_objects_are_chosen(cluster: simkit.Cluster) -> None:
    """Kinds come with their counts; a kind shows its objects, an object its YAML, escaped and without managers."""
    explorer = shown(cluster)
    counts = dict(zip(explorer.kinds.rows["kind"], explorer.kinds.rows["objects"]))
    assert counts["Deployment"] == 1
    choose(explorer.kinds, "kind", "Deployment")
    explorer.wait()
    assert explorer.objects.rows["name"].tolist() == ["web"]
    explorer.objects.choose(0)
    assert "image: &#x27;&lt;nginx&gt;&#x27;" in explorer.yaml.value or "image: &lt;nginx&gt;" in explorer.yaml.value
    assert "managedFields" not in explorer.yaml.value
    assert "Deployment web" in explorer.head.value


def test_owners_are_followed(cluster: simkit.Cluster) -> None:
    """A replica set has its deployment above and its pod below; Enter opens one, and Back returns."""
    explorer = shown(cluster)
    [replica_set] = cluster.list("replicasets")
    explorer.show_object("replicasets", replica_set["metadata"]["name"])
    section(explorer, "Owners")
    rows = explorer.owners.rows
    assert rows[["relation", "kind"]].values.tolist() == [["owner", "Deployment"], ["dependent", "Pod"]]
    explorer.owners.choose(0)
    explorer.owners.activated += 1
    explorer.wait()
    assert "Deployment web" in explorer.head.value
    assert explorer.owners.rows["relation"].tolist() == ["dependent"]
    explorer.back.click()
    assert "ReplicaSet" in explorer.head.value


def test_the_access_to_a_role_begins_with_who_has_it(cluster: simkit.Cluster) -> None:
    """Whoever is granted the role stands first, with the binding that grants it."""
    explorer = shown(cluster)
    explorer.show_object("clusterroles", "cluster-admin")
    explorer.sections.chosen = "Access"
    explorer.wait()
    row = explorer.access.rows.iloc[0]
    assert (row["subject"], row["verbs"][0]) == ("group:system:masters", "has it")
    assert "ClusterRoleBinding cluster-admin" in row["bindings"]


def test_events_access_and_history_are_told(cluster: simkit.Cluster) -> None:
    """An object is shown with its events, its subjects with their verbs, and its writes."""
    explorer = shown(cluster)
    explorer.show_object("deployment", "web")
    section(explorer, "Events")
    assert explorer.events.rows["reason"].tolist() == ["ScalingReplicaSet"]
    section(explorer, "Access")
    verbs = dict(zip(explorer.access.rows["subject"], explorer.access.rows["verbs"]))
    assert "delete" in verbs["group:system:masters"]
    assert "update deployments/scale" in verbs["group:system:masters"]
    assert "delete" not in verbs["sa:kube-system/deployment-controller"]
    section(explorer, "History")
    assert "ADDED" in explorer.past.rows["change"].tolist()


def test_an_object_that_is_gone_is_told(cluster: simkit.Cluster) -> None:
    """It has no sections any more, and nothing fails."""
    explorer = shown(cluster.fork())
    explorer.show_object("configmap", "nothing")
    assert "is not there any more" in explorer.head.value
    section(explorer, "Access")
    assert len(explorer.access.rows) == 0


def test_a_reader_without_a_kernel_gets_html(cluster: simkit.Cluster) -> None:
    """The output of a cell holds the panel as it stands, beside the widget."""
    explorer = shown(cluster)
    explorer.show_object("deployment", "web")
    html = explorer._repr_mimebundle_()["text/html"]
    assert "Deployment web" in html
    assert "&lt;nginx&gt;" in html
    assert "<nginx>" not in html
