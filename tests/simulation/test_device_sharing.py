"""Devices that several claims share: amounts are rounded up to what is given, and never more is given than there is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.client.lister import Lister
from simkit.cluster.cluster import Cluster
from simkit.meta.quantity import parse
from simkit.schema.behaviour import default_behaviour
from simkit.simulation.scheduler.devices.allocation_result import allocation_result
from simkit.simulation.scheduler.devices.allocator import Allocator
from simkit.simulation.scheduler.devices.pools import pools_of
from simkit.simulation.scheduler.devices.requests import AllocatedDevices, amounts_for
from tests.simulation.devices import DRIVER, claim, device_class, devices_of, request, user, with_devices
from tests.simulation.test_device_model import CLASS, NODE, Slices
from tests.simulation.worlds import messages, phase

LATER = default_behaviour("1.36")
MEMORY: dict[str, Any] = {"value": "40Gi", "requestPolicy": {"default": "1Gi", "validRange": {"min": "1Gi"}}}


def sharing(release: str = "1.36", *, capacity: Mapping[str, Any] = MEMORY, **given: Any) -> Cluster:
    """A cluster with one device that claims may share."""
    cluster = with_devices(release, nodes=0, count=0, **given)
    shared = {"name": "card", "allow_multiple_allocations": True, "capacity": {"memory": capacity}}
    cluster.add_nodes(1, devices=[{"driver": DRIVER, "devices": [shared]}])
    cluster.settle()
    return cluster


def part(amount: str, name: str = "gpu") -> dict[str, Any]:
    """A request for a part of the memory of a device."""
    return request(name, capacity={"requests": {"memory": amount}})


def results(cluster: Cluster, name: str) -> list[dict[str, Any]]:
    """The results of a claim."""
    found = cluster.get("resourceclaims.resource.k8s.io", name)["status"]
    return list(found.get("allocation", {}).get("devices", {}).get("results", ()))


def test_claims_share_a_device_while_its_capacity_lasts() -> None:
    """Each has a share of its own, also two requests of one claim; what is left later goes to who waits."""
    cluster = sharing()
    for name, parts in {"a": ("10Gi", "20Gi"), "b": ("5Gi",), "c": ("30Gi",)}.items():
        claim(cluster, name, *(part(each, f"r{index}") for index, each in enumerate(parts)))
        cluster.create(user(name, name))
        cluster.settle()
    assert [phase(cluster, name) for name in "abc"] == ["Running", "Running", "Pending"]
    given = [*results(cluster, "a"), *results(cluster, "b")]
    assert [each["consumedCapacity"]["memory"] for each in given] == ["10Gi", "20Gi", "5Gi"]
    assert len({each["shareID"] for each in given}) == 3
    assert "1 cannot allocate all claims" in messages(cluster, "FailedScheduling")[0]
    fork = cluster.fork()
    for each in (cluster, fork):
        each.delete("pod", "a")
        each.advance(minutes=1)
        assert phase(each, "c") == "Running"


def test_who_says_nothing_gets_the_default() -> None:
    """Without a default it is all that there is."""
    for capacity, taken in ((MEMORY, "1Gi"), ({"value": "40Gi"}, "40Gi")):
        cluster = sharing(capacity=capacity)
        claim(cluster, "c", request())
        cluster.create(user("one", "c"))
        cluster.settle()
        assert results(cluster, "c")[0]["consumedCapacity"] == {"memory": taken}


def test_a_device_of_one_claim_needs_the_capacity_too() -> None:
    """Devices with too little, or without such a capacity, are passed over; nothing is consumed of the others."""
    cluster = with_devices(nodes=0, count=0)
    sizes = [{}, {"memory": "10Gi"}, {"memory": "20Gi"}, {"memory": "20Gi"}]
    devices = [{"name": f"gpu-{index}", "capacity": each} for index, each in enumerate(sizes)]
    cluster.add_nodes(1, devices=[{"driver": DRIVER, "devices": devices}])
    cluster.settle()
    claim(cluster, "c", part("15Gi"))
    claim(cluster, "all", {"name": "r", "exactly": {**part("15Gi")["exactly"], "allocationMode": "All"}})
    cluster.create(user("one", "c"))
    cluster.settle()
    assert [(each["device"], "consumedCapacity" in each, "shareID" in each) for each in results(cluster, "c")] == [
        ("gpu-2", False, False)
    ]
    cluster.delete("pod", "one")
    cluster.settle()
    cluster.create(user("two", "all"))
    cluster.settle()
    assert [each["device"] for each in results(cluster, "all")] == ["gpu-2", "gpu-3"]


@pytest.mark.parametrize("release", ["1.34", "1.35"])
def test_sharing_has_a_gate(release: str) -> None:
    """With it the scheduler of 1.34 shares too; without it a device goes to one claim."""
    cluster = sharing(release, DRAConsumableCapacity=True)
    plain = sharing(release)
    for each in (cluster, plain):
        for name in "ab":
            claim(each, name, part("10Gi"))
            each.create(user(name, name))
        each.settle()
    assert [phase(cluster, name) for name in "ab"] == ["Running", "Running"]
    assert sorted(phase(plain, name) for name in "ab") == ["Pending", "Running"]


def test_expressions_know_shared_devices() -> None:
    """A class may be for them alone."""
    cluster = sharing()
    device_class(cluster, "alone", "!device.allowMultipleAllocations")
    claim(cluster, "c", {"name": "r", "exactly": {"deviceClassName": "alone"}})
    claim(cluster, "d", request("r", "device.allowMultipleAllocations"))
    for name in "cd":
        cluster.create(user(name, name))
    cluster.settle()
    assert devices_of(cluster.get("resourceclaims.resource.k8s.io", "d")) == ["card"]
    assert phase(cluster, "c") == "Pending"


# Against naive references

AMOUNTS = st.integers(1, 12)


@st.composite
def policies(draw: st.DrawFn) -> dict[str, Any]:
    """A capacity, with a policy or without one, whose default is a valid amount."""
    value = draw(st.integers(1, 20))
    kind = draw(st.sampled_from(["none", "range", "values"]))
    if kind == "none":
        return {"value": str(value)}
    if kind == "values":
        values = sorted(draw(st.sets(AMOUNTS, min_size=1, max_size=4)))
        policy = {"validValues": [str(each) for each in values], "default": str(draw(st.sampled_from(values)))}
        return {"value": str(value), "requestPolicy": policy}
    least = draw(AMOUNTS)
    given_range = {"min": str(least)}
    if draw(st.booleans()):
        given_range["step"] = str(draw(st.integers(1, 4)))
    if draw(st.booleans()):
        given_range["max"] = str(least + draw(st.integers(0, 9)))
    return {"value": str(value), "requestPolicy": {"validRange": given_range, "default": str(least)}}


def valid_amounts(capacity: Mapping[str, Any]) -> Iterator[int]:
    """All whole amounts that a policy allows, in their order; written down one by one."""
    policy = capacity.get("requestPolicy", {})
    for amount in range(1, 40):
        if "validValues" in policy and str(amount) not in policy["validValues"]:
            continue
        given_range = policy.get("validRange", {"min": "0"})
        least, most = int(given_range["min"]), int(given_range.get("max", "40"))
        if least <= amount <= most and (amount - least) % int(given_range.get("step", "1")) == 0:
            yield amount


def naive_amount(wanted: int | None, capacity: Mapping[str, Any]) -> int | None:
    """The smallest valid amount that is enough; if nothing is wanted, the default or everything."""
    if wanted is None:
        return int(capacity.get("requestPolicy", {}).get("default", capacity["value"]))
    return next((each for each in valid_amounts(capacity) if each >= wanted), None)


@given(policies(), st.none() | AMOUNTS)
def test_amounts_are_rounded_up_to_valid_ones(capacity: dict[str, Any], wanted: int | None) -> None:
    """What a request takes is the smallest amount that the policy allows, or nothing can be given."""
    asked = {} if wanted is None else {"capacity": {"requests": {"memory": str(wanted)}}}
    found = amounts_for(asked, {"capacity": {"memory": capacity}})
    expected = naive_amount(wanted, capacity)
    assert (None if found is None else found["memory"].whole) == expected


@st.composite
def shared_devices(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Devices, of which most may be shared."""
    found = []
    for index in range(draw(st.integers(1, 4))):
        device: dict[str, Any] = {"name": f"g{index}", "capacity": {"memory": draw(policies())}}
        device["attributes"] = {"model": {"string": draw(st.sampled_from("ab"))}}
        device["allowMultipleAllocations"] = draw(st.sampled_from([True, True, False]))
        found.append(device)
    return found


@st.composite
def sharing_claims(draw: st.DrawFn, number: int) -> dict[str, Any]:
    """A claim with a few requests for one device each, and perhaps a constraint."""
    requests = []
    for index in range(draw(st.integers(1, 3))):
        exactly: dict[str, Any] = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 1}
        wanted = draw(st.none() | AMOUNTS)
        if wanted is not None:
            exactly["capacity"] = {"requests": {"memory": str(wanted)}}
        requests.append({"name": f"r{index}", "exactly": exactly})
    kind = draw(st.sampled_from(["", "", "matchAttribute", "distinctAttribute"]))
    devices: dict[str, Any] = {"requests": requests}
    if kind:
        devices["constraints"] = [{kind: f"{DRIVER}/model"}]
    return {"metadata": {"name": f"c{number}", "namespace": "default"}, "spec": {"devices": devices}}


def allocate(claim: dict[str, Any], devices: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]]) -> bool:
    """Give a claim its devices as the scheduler does, if it can."""
    head = {"driver": DRIVER, "nodeName": "n", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}}
    snapshot: Any = Slices([{"metadata": {"name": "s"}, "spec": {**head, "devices": devices}}], "1.36")
    search = Allocator(
        LATER, [claim], pools_of(NODE, Lister(snapshot)), AllocatedDevices(LATER, others), lambda _: CLASS
    )
    if not search.search(LATER):
        return False
    claim["status"] = {"allocation": allocation_result(LATER, claim, search.results[0], "n", lambda: "share")}
    return True


def naive_fits(
    claim: dict[str, Any], devices: Sequence[dict[str, Any]], left: Mapping[str, int], taken: frozenset[str]
) -> bool:
    """True if some choice of devices meets all requests and the constraint; every choice is tried."""

    def tried(index: int, left: Mapping[str, int], taken: frozenset[str], models: tuple[str, ...]) -> bool:
        if index == len(requests):
            return _keeps(claim, models)
        wanted = requests[index]["exactly"].get("capacity", {}).get("requests", {}).get("memory")
        for device in devices:
            name, capacity = device["name"], device["capacity"]["memory"]
            amount = naive_amount(None if wanted is None else int(wanted), capacity)
            if name in taken or amount is None or amount > left[name]:
                continue
            shared = device["allowMultipleAllocations"]
            rest = {**left, name: left[name] - amount} if shared else left
            model = device["attributes"]["model"]["string"]
            if tried(index + 1, rest, taken if shared else taken | {name}, (*models, model)):
                return True
        return False

    requests = claim["spec"]["devices"]["requests"]
    return tried(0, left, taken, ())


def _keeps(claim: dict[str, Any], models: Sequence[str]) -> bool:
    constraints = claim["spec"]["devices"].get("constraints", ())
    different = len(set(models))
    return all(different == (1 if "matchAttribute" in each else len(models)) for each in constraints)


@pytest.mark.slow
@settings(max_examples=150)
@given(shared_devices(), st.integers(1, 6).flatmap(lambda count: st.tuples(*map(sharing_claims, range(count)))))
def test_capacity_is_never_given_twice(devices: list[dict[str, Any]], wanted: tuple[dict[str, Any], ...]) -> None:
    """Claims come one after the other: each gets devices if any choice would do, and sums stay below what there is."""
    values = {each["name"]: int(each["capacity"]["memory"]["value"]) for each in devices}
    shared = {each["name"] for each in devices if each["allowMultipleAllocations"]}
    models = {each["name"]: each["attributes"]["model"]["string"] for each in devices}
    held: list[dict[str, Any]] = []
    for each in wanted:
        given_out = [one for claim in held for one in claim["status"]["allocation"]["devices"]["results"]]
        used: Counter[str] = Counter()
        for one in given_out:
            used[one["device"]] += parse(one.get("consumedCapacity", {}).get("memory", "0")).whole
        left = {name: value - used[name] for name, value in values.items()}
        taken = frozenset(one["device"] for one in given_out if one["device"] not in shared)
        fits = naive_fits(each, devices, left, taken)
        assert allocate(each, devices, held) is fits
        if fits:
            results = each["status"]["allocation"]["devices"]["results"]
            assert _keeps(each, [models[one["device"]] for one in results])
            held.append(each)
    given_out = [one for claim in held for one in claim["status"]["allocation"]["devices"]["results"]]
    alone = Counter(one["device"] for one in given_out if one["device"] not in shared)
    assert all(count == 1 for count in alone.values())
    for name in shared:
        amounts = [parse(one["consumedCapacity"]["memory"]).whole for one in given_out if one["device"] == name]
        assert sum(amounts) <= values[name]
