"""The usage of quotas by claims of devices."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simkit.logic.quota.device_claims import RESOURCE_CLAIMS, BackedResources, backed_resources
from simkit.logic.quota.usage import PODS, matching, usage
from simkit.schema.behaviour import default_behaviour

GPU = "example.com/gpu"
COUNT = "count/resourceclaims.resource.k8s.io"
PER_CLASS = "{}.deviceclass.resource.k8s.io/devices"
IMPLICIT = "requests.deviceclass.resource.kubernetes.io/{}"
CLASSES = [
    {"metadata": {"name": "a"}, "spec": {"extendedResourceName": GPU}},
    {"metadata": {"name": "b"}, "spec": {}},
]


def exactly(name: str, mode: str = "ExactCount", count: int = 1) -> dict[str, Any]:
    """A request without alternatives."""
    return {"name": "r", "exactly": {"deviceClassName": name, "allocationMode": mode, "count": count}}


def claim(*requests: dict[str, Any], **meta: Any) -> dict[str, Any]:
    """A claim."""
    return {"metadata": {"name": "c", "namespace": "n", **meta}, "spec": {"devices": {"requests": list(requests)}}}


def amounts(release: str, found: dict[str, Any], backed: BackedResources | None = None) -> dict[str, int]:
    """The usage by a claim at a release, without the number of claims."""
    backed = backed or backed_resources(default_behaviour(release), lambda: CLASSES, lambda _: None, lambda _: ())
    names = {
        name: amount.whole
        for name, amount in usage(default_behaviour(release), RESOURCE_CLAIMS, found, 0.0, backed).items()
    }
    assert names.pop(COUNT) == 1
    return names


def test_devices_count_by_class() -> None:
    """All devices count for as many as a claim may have, and of alternatives the most of each class."""
    either = [{"deviceClassName": name, "allocationMode": "ExactCount", "count": number} for name, number in
              (("a", 2), ("b", 4), ("a", 3))]  # fmt: skip
    found = claim(exactly("a"), exactly("b", "All"), {"name": "s", "firstAvailable": either})
    assert amounts("1.34", found) == {PER_CLASS.format("a"): 4, PER_CLASS.format("b"): 36}


def test_claims_count_for_the_resources_that_their_class_backs() -> None:
    """Under the name of the class, and under the one that it names."""
    found = amounts("1.36", claim(exactly("a", count=2), exactly("b")))
    assert found == {
        PER_CLASS.format("a"): 2,
        PER_CLASS.format("b"): 1,
        IMPLICIT.format("a"): 2,
        IMPLICIT.format("b"): 1,
        f"requests.{GPU}": 2,
    }


@pytest.mark.parametrize(
    ("marked", "told", "others", "counts"),
    [
        ("true", {"resourceClaimName": "c"}, [], False),
        ("true", {"resourceClaimName": "other"}, [], True),
        ("true", None, [], False),
        ("true", None, ["0"], True),
        ("true", None, ["9"], False),
        ("false", {"resourceClaimName": "c"}, [], True),
    ],
)
def test_the_claim_of_a_pod_is_not_charged_twice(
    marked: str, told: dict[str, str] | None, others: list[str], counts: bool
) -> None:
    """Only the one claim that the scheduler makes is left out: the pod pays for it."""
    requests = {"requests": {GPU: "2"}}
    pod = {
        "metadata": {"name": "p", "uid": "u"},
        "spec": {"containers": [{"name": "m", "resources": requests}]},
        "status": {"extendedResourceClaimStatus": told} if told else {},
    }
    annotations = {"resource.kubernetes.io/extended-resource-claim": marked}
    found = claim(exactly("a", count=2), annotations=annotations, creationTimestamp="5")
    owned = [found, *({"metadata": {"name": "x", "creationTimestamp": each}} for each in others)]
    backed = backed_resources(default_behaviour("1.36"), lambda: CLASSES, lambda _: pod, lambda _: owned)
    names = amounts("1.36", found, backed)
    assert (f"requests.{GPU}" in names) is counts
    assert names[PER_CLASS.format("a")] == 2


def test_names_that_claims_and_pods_use() -> None:
    """The names of classes count only where a release knows them."""
    names = [
        COUNT,
        PER_CLASS.format("a"),
        f"requests.{GPU}",
        "requests.example.com/other",
        IMPLICIT.format("b"),
        "pods",
    ]
    for release, claims, pods in (("1.30", 1, 3), ("1.34", 2, 3), ("1.36", 4, 4)):
        backed = backed_resources(default_behaviour(release), lambda: CLASSES, lambda _: None, lambda _: ())
        assert len(matching(default_behaviour(release), RESOURCE_CLAIMS, names, backed)) == claims
        assert len(matching(default_behaviour(release), PODS, names)) == pods


REQUESTS = st.builds(exactly, st.sampled_from("ab"), st.sampled_from(["ExactCount", "All"]), st.integers(1, 5))


@given(st.lists(REQUESTS, min_size=1, max_size=4))
def test_the_usage_is_the_sum_of_all_requests(requests: list[dict[str, Any]]) -> None:
    """Each request counts by itself, under each name of its class."""
    expected: Counter[str] = Counter()
    for each in requests:
        name, mode, number = (each["exactly"][key] for key in ("deviceClassName", "allocationMode", "count"))
        named = [f"requests.{GPU}"] if name == "a" else []
        for one in [PER_CLASS.format(name), IMPLICIT.format(name), *named]:
            expected[one] += 32 if mode == "All" else number
    assert amounts("1.36", claim(*requests)) == dict(expected)
