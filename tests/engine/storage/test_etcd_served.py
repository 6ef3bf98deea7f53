"""Servers over one etcd as clients of HTTP meet them, and how they ask etcd for many requests at once."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import orjson
import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.http.apiserver import APIServerHandler
from simkit.engine.http.request_state import ExecutionMode
from simkit.engine.storage.etcd.follower import RevisionWaiters
from simkit.engine.storage.etcd.upkeep import LatestRevision
from simkit.meta.message import Request
from simkit.snapshot.etcd.client import EtcdClient
from simkit.snapshot.etcd.endpoints import EtcdEndpoints
from tests.engine.storage.etcd_server import MISSING, EtcdServer, installed
from tests.engine.storage.served_over_etcd import MAPS, Administrator, cluster

pytestmark = pytest.mark.slow

REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
needs_etcd = pytest.mark.skipif(not installed(), reason=MISSING)


@needs_etcd
def test_each_server_reads_what_the_other_has_just_answered(etcd: EtcdServer, tmp_path: Path) -> None:
    """Reads, lists and access reviews over HTTP, whether prepared or not, see each write that was answered before."""
    made = [cluster(etcd.url, "/served"), cluster(etcd.url, "/served")]
    servers = [one.serve(kubeconfig=tmp_path / str(number)) for number, one in enumerate(made)]
    clients = [Administrator(server.url) for server in servers]
    try:
        clients[0].ask("POST", MAPS, orjson.dumps({"metadata": {"name": "a"}, "data": {"step": ""}}))
        for step in range(30):
            one, other = clients[step % 2], clients[1 - step % 2]
            written = one.ask(
                "PUT", f"{MAPS}/a", orjson.dumps({"metadata": {"name": "a"}, "data": {"step": f"{step}"}})
            )
            assert written.status == 200
            assert other.ask("GET", f"{MAPS}/a").object == written.object
            listed = other.ask("GET", MAPS).object["metadata"]["resourceVersion"]
            assert int(listed) >= int(written.object["metadata"]["resourceVersion"])
        ask = {"user": "ann", "resourceAttributes": {"verb": "get", "resource": "nodes"}}
        review = orjson.dumps({"spec": ask})
        assert not clients[1].ask("POST", REVIEWS, review).object["status"]["allowed"]
        made[0].apply(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: ann}\n"
            "subjects: [{kind: User, name: ann, apiGroup: rbac.authorization.k8s.io}]\n"
            "roleRef: {kind: ClusterRole, name: cluster-admin, apiGroup: rbac.authorization.k8s.io}"
        )
        assert clients[1].ask("POST", REVIEWS, review).object["status"]["allowed"]
    finally:
        for client in clients:
            client.close()
        for server in servers:
            server.stop()
        for each in made:
            each.engine.store.close()


@needs_etcd
def test_what_cannot_be_read_is_an_error(etcd: EtcdServer) -> None:
    """A value that is no object, and one that is encrypted with an unknown key, can be neither read nor deleted."""
    garbled = EtcdClient(EtcdEndpoints([etcd.url], "/garbled"))
    garbled.put(b"/garbled/configmaps/default/bad", b"k8s\x00\xff\xff")
    garbled.put(b"/garbled/configmaps/default/shut", b"k8s:enc:aescbc:v1:k1:xyz")
    made = Cluster(options=Options(storage=f"etcd:{etcd.url}", etcd_prefix="/garbled", release="1.36"))
    try:
        assert made.perform(Request.of("GET", MAPS)).status == 500
        for name, why in (("bad", ""), ("shut", "it is encrypted (aescbc)")):
            for method in ("GET", "DELETE"):
                answer = made.perform(Request.of(method, f"{MAPS}/{name}"))
                told = f"the object at /registry/configmaps/default/{name} cannot be decoded: {why}"
                assert (answer.status, answer.object["message"].startswith(told)) == (500, True)
    finally:
        garbled.close()
        made.close()


@needs_etcd
def test_a_read_that_etcd_cannot_confirm_is_an_error(tmp_path: Path) -> None:
    """Where etcd is gone, a read of the latest state is refused, and one of any state is answered."""
    etcd = EtcdServer(tmp_path / "data")
    etcd.start()
    made = cluster(etcd.url, "/gone")
    with made.serve(kubeconfig=tmp_path / "kubeconfig") as server:
        client = Administrator(server.url)
        assert client.ask("GET", MAPS).status == 200
        etcd.kill()
        assert client.ask("GET", MAPS).status == 500
        ask = {"user": "ann", "resourceAttributes": {"verb": "get", "resource": "nodes"}}
        assert client.ask("POST", REVIEWS, orjson.dumps({"spec": ask})).status == 500
        assert client.ask("GET", f"{MAPS}?resourceVersion=0").status == 200
        client.close()
    made.engine.store.close()


@needs_etcd
def test_requests_that_wait_for_a_refresh_alone(etcd: EtcdServer) -> None:
    """Nothing needs a thread of its own but what holds a lock meanwhile. Writes are paused until etcd has answered."""
    made = cluster(etcd.url, "/modes")
    handler = APIServerHandler(made.engine)
    made.list("configmaps")
    made.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    made.perform(Request.of("PUT", f"{MAPS}/a", made.get("configmap", "a")))
    made.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"port": 1}]}})
    made.perform(Request.of("DELETE", f"{MAPS}?labelSelector=none=such"))
    modes = {
        request: handler.execution_mode(Request.of(*request.split()))
        for request in (
            f"GET {MAPS}",
            f"GET {MAPS}/a",
            f"GET {MAPS}?resourceVersion=0",
            f"GET {MAPS}?resourceVersion=1{made.engine.store.revision}",
            f"POST {MAPS}",
            f"PUT {MAPS}/a",
            f"DELETE {MAPS}",
            "POST /api/v1/namespaces/default/services",
            "GET /healthz",
        )
    }
    assert modes == {
        f"GET {MAPS}": ExecutionMode.REFRESHED,
        f"GET {MAPS}/a": ExecutionMode.REFRESHED,
        f"GET {MAPS}?resourceVersion=0": ExecutionMode.INLINE,
        f"GET {MAPS}?resourceVersion=1{made.engine.store.revision}": ExecutionMode.WAITING,
        f"POST {MAPS}": ExecutionMode.PAUSING,
        f"PUT {MAPS}/a": ExecutionMode.REFRESHED_PAUSING,
        f"DELETE {MAPS}": ExecutionMode.REFRESHED_WAITING,
        "POST /api/v1/namespaces/default/services": ExecutionMode.REFRESHED_WAITING,
        "GET /healthz": ExecutionMode.WAITING,
    }
    made.engine.store.close()


def test_one_call_for_all_who_ask_meanwhile() -> None:
    """Who comes during a call shares the next one, which begins after all of them came; an error is everybody's."""
    begun, go_on, calls = threading.Semaphore(0), threading.Semaphore(0), list[int]()

    def ask() -> int:
        calls.append(len(calls) + 1)
        begun.release()
        go_on.acquire()
        if calls[-1] == 3:
            raise ConnectionError("etcd is gone")
        return calls[-1]

    latest = LatestRevision(ask)
    with ThreadPoolExecutor(20) as pool:
        first = pool.submit(latest.get)
        begun.acquire()
        second = [pool.submit(latest.get) for _ in range(9)]
        while latest.waiting < 9:
            threading.Event().wait(0.001)
        go_on.release()
        assert first.result() == 1
        begun.acquire()
        third: list[Future[int]] = [pool.submit(latest.get) for _ in range(5)]
        while latest.waiting < 5:
            threading.Event().wait(0.001)
        go_on.release(2)
        assert [each.result() for each in second] == [2] * 9
        assert [str(each.exception()) for each in third] == ["etcd is gone"] * 5
        go_on.release()
        assert latest.get() == 4


def test_each_waiter_is_woken_by_its_revision() -> None:
    """A revision wakes those who wait for it or an earlier one; others wait on, or give up in time."""
    waiters = RevisionWaiters()
    assert not waiters.wait(1, 0.0)
    with ThreadPoolExecutor(3) as pool:
        two, three = pool.submit(waiters.wait, 2, 60), pool.submit(waiters.wait, 3, 60)
        waiters.reach(2)
        assert two.result()
        assert not three.done()
        waiters.reach(5)
        assert three.result()
        last = pool.submit(waiters.wait, 9, 60)
        while not waiters.waiting:
            threading.Event().wait(0.001)
        waiters.wake_all()
        assert not last.result()
    assert waiters.wait(4, 0.0)
