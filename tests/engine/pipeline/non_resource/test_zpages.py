"""The pages about the server itself, which release 1.36 serves by default."""

from __future__ import annotations

import orjson
import pytest

import simkit
from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.clock import SimulatedClock
from simkit.meta.message import Request, Response

OBJECT = "application/{media};as={kind};g=config.k8s.io;v={version}"


def get(cluster: Cluster, path: str, accept: str = "") -> Response:
    return cluster.perform(Request.of("GET", path, headers={"accept": accept} if accept else {}))


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return simkit.Cluster(
        options=Options(release="1.36", clock=SimulatedClock(), service_node_port_range=(30000, 30100))
    )


def test_the_pages_are_text(cluster: Cluster) -> None:
    """Without a wish, or with one for text, the pages are text."""
    page = get(cluster, "/statusz", "text/*")
    assert (page.status, page.content_type) == (200, "text/plain; charset=utf-8")
    assert b"apiserver statusz" in page.body
    assert b"\nStarted: Wed Apr 17 00:00:00 UTC 2024\nUp: 0 hr" in page.body
    assert b"\nservice-node-port-range 30000-30100\n" in get(cluster, "/flagz").body


def test_the_pages_are_objects_of_a_kind(cluster: Cluster) -> None:
    """A header that names the kind gets it, with a warning in the version that is deprecated."""
    status = get(cluster, "/statusz", OBJECT.format(media="json", kind="Statusz", version="v1beta1"))
    told = orjson.loads(status.body)
    assert (told["kind"], told["apiVersion"], told["emulationVersion"]) == ("Statusz", "config.k8s.io/v1beta1", "1.36")
    assert status.content_type == "application/json;g=config.k8s.io;v=v1beta1;as=Statusz"
    flags = get(cluster, "/flagz", OBJECT.format(media="yaml", kind="Flagz", version="v1alpha1"))
    assert b"\n  authorization-mode: '[RBAC]'\n" in flags.body
    assert dict(flags.headers)["Warning"].startswith('299 - "This version of the flagz endpoint is deprecated.')


@pytest.mark.parametrize(
    "accept", ["application/json", "text/html", OBJECT.format(media="json", kind="Flagz", version="v1beta1")]
)
def test_other_media_types_are_refused(cluster: Cluster, accept: str) -> None:
    """JSON needs the name of the kind."""
    assert get(cluster, "/statusz", accept).status == 406


def test_older_releases_have_no_such_pages() -> None:
    """They came with a feature gate, and their paths are listed where they are served."""
    older = simkit.Cluster(release="1.35")
    assert get(older, "/statusz").status == 404
    assert "/statusz" not in orjson.loads(get(older, "/").body)["paths"]
    asked = simkit.Cluster(options=Options(release="1.35", feature_gates={"ComponentStatusz": True}))
    assert get(asked, "/statusz").status == 200
    beta = OBJECT.format(media="json", kind="Statusz", version="v1beta1")
    assert get(asked, "/statusz", beta).status == 406
    assert get(asked, "/statusz", beta.replace("beta", "alpha")).status == 200
