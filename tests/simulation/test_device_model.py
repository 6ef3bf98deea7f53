"""The search for devices against a naive one that writes down all assignments and takes the first valid one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from random import Random
from typing import Any

import pytest

from simkit.client.lister import Lister
from simkit.client.resources import RESOURCE_SLICES
from simkit.schema.behaviour import default_behaviour
from simkit.seams.snapshot import Snapshot
from simkit.simulation.scheduler.devices.allocator import Allocator
from simkit.simulation.scheduler.devices.pools import pools_of
from simkit.simulation.scheduler.devices.requests import AllocatedDevices

pytestmark = pytest.mark.slow

DRIVER = "d.example.com"
NODE = {"metadata": {"name": "n", "labels": {}}}
CLASS = {"metadata": {"name": "any"}, "spec": {}}


class Slices:
    """A snapshot with slices alone."""

    def __init__(self, slices: Sequence[dict[str, Any]], release: str) -> None:
        self._slices, self.behaviour = slices, default_behaviour(release)

    def captured(self) -> tuple[object, ...]:
        """What it has all of."""
        return (RESOURCE_SLICES,)

    def scan(self, resource: object, namespace: str | None = None) -> Iterator[dict[str, Any]]:
        """All slices."""
        return iter(self._slices if resource == RESOURCE_SLICES else ())


def random_devices(random: Random) -> list[dict[str, Any]]:
    """A few devices with attributes, of which some have taints or take from a counter."""
    found = []
    for index in range(random.randint(1, 5)):
        device: dict[str, Any] = {"name": f"g{index}", "attributes": {"socket": {"int": random.randint(0, 1)}}}
        if random.random() < 0.8:
            device["attributes"]["model"] = {"string": random.choice("ab")}
        if random.random() < 0.3:
            device["taints"] = [{"key": "worn", "effect": random.choice(["NoSchedule", "None"])}]
        if random.random() < 0.4:
            amount = {"value": str(random.randint(1, 3))}
            device["consumesCounters"] = [{"counterSet": "c", "counters": {"parts": amount}}]
        if random.random() < 0.4:
            device["capacity"] = {"memory": {"value": str(random.randint(1, 4))}}
            device["allowMultipleAllocations"] = random.random() < 0.7
        found.append(device)
    return found


def random_request(random: Random, name: str, *, all_devices: bool) -> dict[str, Any]:
    """A request with alternatives, or one alone."""
    if random.random() < 0.3:
        choices = [{"name": f"s{index}", **_exactly(random, all_devices)} for index in range(random.randint(1, 2))]
        return {"name": name, "firstAvailable": choices}
    exactly = _exactly(random, all_devices)
    if random.random() < 0.15:
        exactly["adminAccess"] = True
    return {"name": name, "exactly": exactly}


def _exactly(random: Random, all_devices: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": random.randint(1, 2)}
    if all_devices and random.random() < 0.2:
        found = {"deviceClassName": "any", "allocationMode": "All"}
    if random.random() < 0.4:
        expression = f"device.attributes['{DRIVER}'].socket == {random.randint(0, 1)}"
        found["selectors"] = [{"cel": {"expression": expression}}]
    if random.random() < 0.3:
        found["tolerations"] = [{"key": "worn", "operator": "Exists"}]
    if random.random() < 0.3:
        found["capacity"] = {"requests": {"memory": str(random.randint(1, 3))}}
    return found


def random_claim(random: Random, number: int) -> dict[str, Any]:
    """A claim with one or two requests, and perhaps a constraint."""
    constraints = []
    if random.random() < 0.5:
        kind = random.choice(["matchAttribute", "matchAttribute", "distinctAttribute"])
        constraint: dict[str, Any] = {kind: f"{DRIVER}/{random.choice(['model', 'socket'])}"}
        if random.random() < 0.4:
            constraint["requests"] = [random.choice(["r0", "r1", "r0/s0"])]
        constraints.append(constraint)
    requests = [
        random_request(random, f"r{index}", all_devices=not constraints) for index in range(random.randint(1, 2))
    ]
    spec = {"devices": {"requests": requests, "constraints": constraints}}
    return {"metadata": {"name": f"c{number}", "namespace": "default"}, "spec": spec}


def naive(claims: Sequence[dict[str, Any]], devices: Sequence[dict[str, Any]], parts: int, used: set[str]) -> Any:
    """The first valid assignment: for each claim, its requests with their devices; None if there is none."""
    choices = [list(_choices(request, devices)) for claim in claims for request in claim["spec"]["devices"]["requests"]]
    for flat in product(*choices):
        left, parted = list(flat), []
        for claim in claims:
            count = len(claim["spec"]["devices"]["requests"])
            parted.append(left[:count])
            del left[:count]
        if _valid(parted, claims, {each["name"]: each for each in devices}, parts, used):
            return [[(name, device) for name, _, chosen in one for device in chosen] for one in parted]
    return None


def _choices(
    request: dict[str, Any], devices: Sequence[dict[str, Any]]
) -> Iterator[tuple[str, dict[str, Any], tuple[str, ...]]]:
    """All ways to meet a request, in the order of alternatives and devices."""
    alternatives = [(f"{request['name']}/{each['name']}", each) for each in request.get("firstAvailable", ())]
    for name, spec in alternatives or [(request["name"], request["exactly"])]:
        fitting = [each["name"] for each in devices if _fits(spec, each) and _needs(spec, each) <= _memory(each)]
        if spec["allocationMode"] == "All":
            if fitting:
                yield name, spec, tuple(fitting)
        else:
            for chosen in permutations(fitting, spec["count"]):
                yield name, spec, chosen


def _fits(spec: dict[str, Any], device: dict[str, Any]) -> bool:
    expressions = [each["cel"]["expression"] for each in spec.get("selectors", ())]
    return all(expression.endswith(f"== {device['attributes']['socket']['int']}") for expression in expressions)


def _memory(device: dict[str, Any]) -> int:
    return int(device.get("capacity", {}).get("memory", {"value": 0})["value"])


def _needs(spec: dict[str, Any], device: dict[str, Any]) -> int:
    """What a request takes of the memory of a device: what it says, or all of it."""
    return int(spec["capacity"]["requests"]["memory"]) if "capacity" in spec else _memory(device)


def _valid(parted: Any, claims: Any, devices: dict[str, Any], parts: int, used: set[str]) -> bool:
    taken: dict[str, set[int]] = {}
    memory = {name: _memory(each) for name, each in devices.items()}
    left = parts - sum(_amount(devices[name]) for name in used)
    for number, (claim, chosen) in enumerate(zip(claims, parted, strict=True)):
        for _, spec, names in chosen:
            for name in names:
                users = taken.setdefault(name, set())
                shared = devices[name].get("allowMultipleAllocations")
                if not spec.get("adminAccess") and name in used:
                    return False
                if not shared and (number in users if spec.get("adminAccess") else users):
                    return False
                first = not users
                users.add(number)
                if shared:
                    memory[name] -= _needs(spec, devices[name])
                    if memory[name] < 0:
                        return False
                if not spec.get("tolerations") and any(
                    each["effect"] == "NoSchedule" for each in devices[name].get("taints", ())
                ):
                    return False
                if shared and not first:
                    continue
                left -= _amount(devices[name])
                if _amount(devices[name]) and left < 0:
                    return False
        if not all(_holds(each, chosen, devices) for each in claim["spec"]["devices"]["constraints"]):
            return False
    return True


def _amount(device: dict[str, Any]) -> int:
    return sum(int(each["counters"]["parts"]["value"]) for each in device.get("consumesCounters", ()))


def _holds(constraint: dict[str, Any], chosen: Any, devices: dict[str, Any]) -> bool:
    wanted = set(constraint.get("requests", ()))
    attribute = (constraint.get("matchAttribute") or constraint["distinctAttribute"]).partition("/")[2]
    concerned = [names for name, _, names in chosen if not wanted or {name, name.partition("/")[0]} & wanted]
    values = [devices[name]["attributes"].get(attribute) for names in concerned for name in names]
    if None in values:
        return False
    different = {str(each) for each in values}
    return len(different) <= 1 if "matchAttribute" in constraint else len(different) == len(values)


def keeps_counters(claims: Sequence[dict[str, Any]], devices: Sequence[dict[str, Any]]) -> bool:
    """True if a device that is refused may keep what it consumes of counters, as in kube-scheduler: it misses some then."""
    constrained = any(each["spec"]["devices"]["constraints"] for each in claims)
    return any(
        each.get("consumesCounters") and (constrained or each.get("taints") or each.get("allowMultipleAllocations"))
        for each in devices
    )


@pytest.mark.parametrize("seed", range(600))
def test_the_first_valid_assignment_is_found(seed: int) -> None:
    """With devices in use, admin access, taints, counters, alternatives and constraints both agree."""
    random = Random(seed)
    devices, parts = random_devices(random), random.randint(1, 5)
    claims = [random_claim(random, number) for number in range(random.randint(1, 2))]
    used = {each["name"] for each in devices if random.random() < 0.15}
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 2}
    head = {"driver": DRIVER, "nodeName": "n", "pool": pool}
    counters = [{"name": "c", "counters": {"parts": {"value": str(parts)}}}]
    slices = [
        {"metadata": {"name": "a"}, "spec": {**head, "sharedCounters": counters}},
        {"metadata": {"name": "b"}, "spec": {**head, "devices": devices}},
    ]
    snapshot: Snapshot = Slices(slices, "1.37")  # type: ignore[assignment]
    results = [{"driver": DRIVER, "pool": "p", "device": name} for name in used]
    allocated = AllocatedDevices(
        default_behaviour("1.37"), [{"status": {"allocation": {"devices": {"results": results}}}}]
    )
    search = Allocator(default_behaviour("1.37"), claims, pools_of(NODE, Lister(snapshot)), allocated, lambda _: CLASS)
    found = search.search(default_behaviour("1.37"))
    wanted = naive(claims, devices, parts, used)
    if keeps_counters(claims, devices) and not found:
        return
    assert found == (wanted is not None)
    if wanted is not None and not keeps_counters(claims, devices):
        assert [[(one.request.name, one.device.id.device) for one in each] for each in search.results] == wanted
