"""Images that a node lacks, that nobody has, or whose name is none: how containers wait, and for how long."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.nodes import add_configured, read_config
from simkit.cluster.options import Options
from simkit.meta.clock import SimulatedClock
from simkit.simulation.kubelet.images import BadReference, reference
from tests.simulation.worlds import container, deployment, messages, phase, pod, simulated

NOT_FOUND = (
    'rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/library/nope:1": failed to resolve '
    'reference "docker.io/library/nope:1": docker.io/library/nope:1: not found'
)


def waiting(cluster: Cluster, name: str) -> Any:
    """The state of a container that waits."""
    return container(cluster, name)["state"]["waiting"]


@pytest.mark.parametrize(
    ("release", "message"),
    [
        ("1.31", 'Back-off pulling image "nope:1"'),
        ("1.32", f'Back-off pulling image "nope:1": ErrImagePull: {NOT_FOUND}'),
    ],
)
def test_an_image_that_nobody_has(release: str, message: str) -> None:
    """First the error is told, then the pause; attempts come after 10, 20, 40 seconds, and so on up to 5 minutes."""
    cluster = Cluster(options=Options(release=release, clock=SimulatedClock(), seed=7))
    cluster.add_nodes(1)
    cluster.settle()
    cluster.behave(image="nope:*", pull_error="not-found")
    cluster.create(pod("p", image="nope:1"))
    cluster.settle()
    assert waiting(cluster, "p") == {"reason": "ErrImagePull", "message": NOT_FOUND}
    cluster.advance(seconds=2)
    assert waiting(cluster, "p") == {"reason": "ImagePullBackOff", "message": message}
    pulls = [0.0]
    for second in range(3, 1500):
        cluster.advance(seconds=1)
        if waiting(cluster, "p")["reason"] == "ErrImagePull" and second - pulls[-1] > 2:
            pulls.append(second)
    assert [later - earlier for earlier, later in pairwise(pulls)][:7] == [
        pytest.approx(each, abs=2) for each in (10, 20, 40, 80, 160, 300, 300)
    ]
    assert set(messages(cluster, "Failed")) == {
        f'Failed to pull image "nope:1": {NOT_FOUND}',
        "Error: ErrImagePull",
        "Error: ImagePullBackOff",
    }
    assert messages(cluster, "BackOff") == ['Back-off pulling image "nope:1"']


def test_an_image_that_comes_later() -> None:
    """Once it is there, the next attempt succeeds; a fork knows how long the pause is."""
    cluster = simulated(1)
    cluster.behave(image="late:*", pull_error="denied")
    cluster.create(pod("p", image="late:1"))
    cluster.advance(seconds=5)
    fork = cluster.fork()
    for each in (cluster, fork):
        each.behave(image="late:*", pull_error="")
        each.advance(seconds=3)
        assert waiting(each, "p")["reason"] == "ImagePullBackOff"
        each.advance(seconds=5)
        assert phase(each, "p") == "Running"


@pytest.mark.parametrize("image", ["me/Upper:1", "a b", "a:b:c", "x" * 300, "a" * 64, "-a", "a//b", "a@sha256:12"])
def test_a_name_that_is_no_reference(image: str) -> None:
    """It cannot be pulled, and is told as such."""
    with pytest.raises(BadReference) as wrong:
        reference(image)
    cluster = simulated(1)
    cluster.create(pod("p", image=image))
    cluster.advance(seconds=60)
    text = f'Failed to apply default image tag "{image}": couldn\'t parse image reference "{image}": {wrong.value}'
    assert waiting(cluster, "p") == {"reason": "InvalidImageName", "message": text}
    assert messages(cluster, "InspectFailed") == [text]
    assert messages(cluster, "Failed") == ["Error: InvalidImageName"]


@pytest.mark.parametrize(
    ("image", "full"),
    [
        ("nginx", "docker.io/library/nginx:latest"),
        ("me/app:1", "docker.io/me/app:1"),
        ("localhost/app", "localhost/app:latest"),
        ("host:5000/app", "host:5000/app:latest"),
        ("[::1]:5000/app:2", "[::1]:5000/app:2"),
        ("index.docker.io/nginx:1", "docker.io/library/nginx:1"),
        ("a@sha256:" + "0" * 64, "docker.io/library/a@sha256:" + "0" * 64),
    ],
)
def test_references(image: str, full: str) -> None:
    """What is left out is the public registry, its library, and the tag ``latest``."""
    assert str(reference(image)) == full


def test_a_registry_that_exists_nowhere() -> None:
    """Names under the domain for that are not resolved; other names that look like examples are pulled."""
    cluster = simulated(1)
    cluster.create(pod("p", image="registry.invalid/app:1"))
    cluster.create(pod("q", image="registry.example.com/app:1"))
    cluster.settle()
    assert waiting(cluster, "p")["message"].endswith(
        'failed to do request: Head "https://registry.invalid/v2/app/manifests/1": dial tcp: lookup registry.invalid: '
        "no such host"
    )
    assert phase(cluster, "q") == "Running"


def test_a_rollout_with_a_wrong_image_misses_its_deadline() -> None:
    """The pods of before go on, and the condition says that the new ones do not come; undone, all is well."""
    cluster = simulated(2)
    cluster.create(deployment("web", 3, image="app:1"))
    cluster.settle()
    cluster.behave(image="app:99", pull_error="not-found")
    wrong = cluster.get("deployment", "web")
    wrong["spec"]["template"]["spec"]["containers"][0]["image"] = "app:99"
    cluster.apply(wrong)
    cluster.advance(minutes=11)
    status = cluster.get("deployment", "web")["status"]
    progressing = next(each for each in status["conditions"] if each["type"] == "Progressing")
    assert (progressing["status"], progressing["reason"]) == ("False", "ProgressDeadlineExceeded")
    assert (status["availableReplicas"], status["updatedReplicas"]) == (3, 1)
    wrong["spec"]["template"]["spec"]["containers"][0]["image"] = "app:1"
    cluster.apply(wrong)
    cluster.advance(minutes=1)
    assert cluster.get("deployment", "web")["status"]["updatedReplicas"] == 3


def test_a_file_says_which_images_there_are(tmp_path: Path) -> None:
    """With patterns of images all others are missing, but those of the system."""
    file = tmp_path / "nodes.yaml"
    file.write_text('nodes: [{count: 1}]\nregistry: {images: ["nginx:*"], missing: ["nginx:9*"]}\n')
    cluster = simulated(0)
    add_configured(cluster._control_plane, read_config(file))
    for name, image in (("good", "nginx:1"), ("gone", "nginx:9.1"), ("other", "redis:7")):
        cluster.create(pod(name, image=image))
    system = pod("system", image="any:1")
    cluster.create({**system, "metadata": {**system["metadata"], "namespace": "kube-system"}})
    cluster.settle()
    assert [phase(cluster, name) for name in ("good", "gone", "other")] == ["Running", "Pending", "Pending"]
    assert cluster.get("pod", "system", namespace="kube-system")["status"]["phase"] == "Running"


def test_a_policy_that_always_pulls() -> None:
    """Each start asks the registry, also for an image that the node has."""
    cluster = simulated(1)
    for name in ("a", "b"):
        cluster.create(pod(name, image="app:1", container={"imagePullPolicy": "Always"}))
        cluster.settle()
    assert len(messages(cluster, "Pulling")) == 2


def test_an_image_that_must_not_be_pulled() -> None:
    """It counts as present, unless it cannot be pulled."""
    cluster = simulated(1)
    cluster.behave(image="nope:*", pull_error="not-found")
    for name, image in (("present", "app:1"), ("absent", "nope:1")):
        cluster.create(pod(name, image=image, container={"imagePullPolicy": "Never"}))
    cluster.settle()
    assert messages(cluster, "Pulled") == ['Container image "app:1" already present on machine']
    text = 'Container image "nope:1" is not present with pull policy of Never'
    assert waiting(cluster, "absent") == {"reason": "ErrImageNeverPull", "message": text}


def test_a_secret_for_pulling_that_is_not_there() -> None:
    """The pod runs, with a warning; with the secret there is none."""
    cluster = simulated(1)
    cluster.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "there"}})
    cluster.create(pod("p", imagePullSecrets=[{"name": "there"}, {"name": "gone"}]))
    cluster.settle()
    assert phase(cluster, "p") == "Running"
    assert messages(cluster, "FailedToRetrieveImagePullSecret") == [
        "Unable to retrieve some image pull secrets (gone); attempting to pull the image may not succeed."
    ]
