"""Several servers over one etcd: what they promise their clients together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import simkit
from simkit.client.leader_election import LeaderElection
from simkit.cluster.control_plane import ControlPlane
from simkit.cluster.extensions import performing
from simkit.cluster.options import Options
from simkit.engine.storage.etcd.upkeep import Compactor
from simkit.meta.errors import SimkitError, StatusError
from simkit.snapshot.etcd.client import EtcdClient
from simkit.snapshot.etcd.endpoints import EtcdEndpoints
from tests.engine.storage.etcd_server import MISSING, EtcdServer, installed
from tests.engine.storage.histories import check, record
from tests.engine.storage.test_etcd import opened
from tests.protocols.store_suite import key, value

pytestmark = [pytest.mark.skipif(not installed(), reason=MISSING), pytest.mark.slow]
RULES = "rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]"
WIDGETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
"""


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """Ends the connections of the servers that a test has made."""
    yield
    while MADE:
        MADE.pop()._control_plane.store.close()


MADE: list[simkit.Cluster] = []


def served(etcd: EtcdServer, prefix: str, **more: Any) -> simkit.Cluster:
    """A server over an etcd."""
    MADE.append(simkit.Cluster(options=Options(storage=f"etcd:{etcd.url}", etcd_prefix=prefix, **more)))
    return MADE[-1]


def test_two_servers_are_one_cluster(etcd: EtcdServer) -> None:
    """Objects, permissions, definitions and addresses of one server are on the other at once."""
    one, other = served(etcd, "/cluster"), served(etcd, "/cluster")
    one.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '1'}")
    assert other.get("configmap", "a")["data"] == {"x": "1"}
    other.apply(WIDGETS)
    one.settle()
    one.apply("apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}")
    assert other.get("widget", "w")["metadata"]["name"] == "w"
    one.apply(f"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: r}}\n{RULES}")
    assert other.get("clusterrole", "r")["rules"] == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]


def test_a_server_starts_on_what_another_has_written(etcd: EtcdServer) -> None:
    """Every object of a server is read by the next one as it was, in the form that kube-apiserver stores."""
    one = served(etcd, "/again")
    one.apply(WIDGETS)
    one.apply(
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  serviceName: db\n"
        "  selector: {matchLabels: {app: db}}\n  template:\n    metadata: {labels: {app: db}}\n"
        "    spec: {containers: [{name: c, image: i, resources: {limits: {cpu: '0.5'}}}]}\n"
        "  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce],"
        " resources: {requests: {storage: 1Gi}}}}]\n"
    )
    one.apply("apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}")
    again = served(etcd, "/again")
    snapshots = [dict(_all(cluster)) for cluster in (one, again)]
    assert snapshots[0] == snapshots[1]
    assert len(snapshots[0]) > 150


def _all(cluster: simkit.Cluster) -> Iterator[tuple[str, object]]:
    snapshot = cluster.snapshot()
    for resource in sorted(snapshot.captured()):
        for obj in snapshot.scan(resource):
            yield f"{resource} {obj['metadata'].get('namespace')}/{obj['metadata']['name']}", obj


def test_secrets_are_encrypted_where_a_configuration_says_so(etcd: EtcdServer, tmp_path: Path) -> None:
    """With the configuration they are read; without it the answer names what is missing; others are in plain."""
    configuration = tmp_path / "encryption.yaml"
    configuration.write_text(
        "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n"
        "  providers:\n  - aesgcm: {keys: [{name: k1, secret: AAECAwQFBgcICQoLDA0ODw==}]}\n  - identity: {}\n"
    )
    one = served(etcd, "/closed", encryption_provider_config=configuration)
    one.apply("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {word: plainly}")
    client = EtcdClient(EtcdEndpoints([etcd.url]))
    raw = client.read(b"/closed/secrets/default/s").kvs[0].value
    client.close()
    assert raw.startswith(b"k8s:enc:aesgcm:v1:k1:")
    assert b"plainly" not in raw
    assert "data" in served(etcd, "/closed", encryption_provider_config=configuration).get("secret", "s")
    with pytest.raises(StatusError, match="encryption-provider-config"):
        served(etcd, "/closed").get("secret", "s")


def test_events_go_when_their_lease_ends(etcd: EtcdServer) -> None:
    """Events are written under a lease, so that they go without anybody's doing; other objects are not."""
    cluster = served(etcd, "/leases", event_ttl=3600.0)
    event = "apiVersion: v1\nkind: Event\nmetadata: {name: e, namespace: default}\n"
    cluster.apply(event + "involvedObject: {kind: Pod, namespace: default, name: p}\nreason: Told")
    client = EtcdClient(EtcdEndpoints([etcd.url]))
    assert client.read(b"/leases/events/default/e").kvs[0].lease
    assert not client.read(b"/leases/namespaces/default").kvs[0].lease
    client.close()


def test_a_clock_that_is_simulated_is_refused(etcd: EtcdServer) -> None:
    """Others use the etcd too, and their time goes on."""
    with pytest.raises(SimkitError, match="machine's clock"):
        served(etcd, "/clock", clock=simkit.SimulatedClock())


class _Runner:
    """Notes whether it runs."""

    running = False

    def start(self) -> None:
        self.running = True

    def stop(self) -> None:
        self.running = False


def test_one_server_leads_and_another_takes_over(etcd: EtcdServer) -> None:
    """One runs the controllers; when it leaves, the other has them at its next look."""
    planes: list[ControlPlane] = [served(etcd, "/leaders")._control_plane for _ in range(2)]
    runners = [_Runner(), _Runner()]
    elections = [
        LeaderElection(runner, performing(plane.engine), plane.clock, f"s{index}")
        for index, (runner, plane) in enumerate(zip(runners, planes, strict=True))
    ]
    for election in elections:
        election.step()
    assert [runner.running for runner in runners] == [True, False]
    elections[0].stop()
    elections[1].step()
    assert [runner.running for runner in runners] == [False, True]


def test_one_of_several_servers_compacts(etcd: EtcdServer) -> None:
    """Each call forgets what was superseded before the one before it, whoever made that."""
    client = EtcdClient(EtcdEndpoints([etcd.url]))
    one, other = Compactor(client), Compactor(client)
    assert [one.compact(), other.compact()] == [False, False]
    store = opened(etcd, "/compacted")
    for step in range(3):
        store.put(key("a"), value("a", step=str(step)), expect=None)
    assert [other.compact(), one.compact(), other.compact()] == [True, False, True]
    store.close()
    client.close()


def test_histories_of_several_servers_are_linear(etcd: EtcdServer) -> None:
    """Clients of two servers change and read one key at once: one order of all changes explains what they got."""
    stores = [opened(etcd, "/linear") for _ in range(2)]
    start = stores[0].revision
    check(stores[1], start, record(stores))
    for store in stores:
        store.close()
