"""Recorded writes, replayed through the merge language alone: no HTTP, no storage, no validation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson
import pytest

from simkit.meta.objects import at
from tests.language.merge.replica import Replica
from tests.shared import SHARED, needs_shared

UNIQUE = "u1"

# Steps that are left out because their answer, and whether they change anything, is the business of other parts:
# validation, names and addresses, query options, lists, broken text.
CASES: Mapping[str, frozenset[int]] = {
    "apply/apply-atomic": frozenset(),
    "apply/apply-bodies": frozenset({5, 6, 7, 8, 9, 10, 11}),
    "apply/apply-conflict": frozenset(),
    "apply/apply-containers": frozenset({13}),
    "apply/apply-create": frozenset(),
    "apply/apply-defaulted": frozenset({8}),
    "apply/apply-duplicates-stored": frozenset(),
    "apply/apply-managed-fields-in-body": frozenset(),
    "apply/apply-pod-lists": frozenset({4}),
    "apply/apply-ports": frozenset({5}),
    "apply/apply-reset-empty-list": frozenset(),
    "apply/apply-status-subresource": frozenset(),
    "apply/apply-update-takes": frozenset(),
    "apply/apply-yaml": frozenset({5, 6, 9}),
    "crd/crd-apply-atomic": frozenset({9}),
    "crd/crd-apply-errors": frozenset({2, 4}),
    "crd/crd-apply-map": frozenset(),
    "crd/crd-apply-set": frozenset(),
    "patch/patch-json-errors": frozenset({11, 12, 13, 14, 15, 16}),
    "patch/patch-json-lists": frozenset(),
    "patch/patch-json-operations": frozenset({7}),
    "patch/patch-strategic-lists": frozenset({12}),
    "patch/patch-strategic-other-keys": frozenset(),
    "rbac/rbac-apply": frozenset({7, 8, 10}),
    "rbac/rbac-rolebinding-crud": frozenset({4, 9}),
    "serviceaccount/serviceaccount-crud": frozenset({3, 11}),
    "status/status-scale-deployment": frozenset({2, 5, 6, 7, 12, 13, 14, 15, 16}),
}


def _case(name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    text = (SHARED / "conformance" / "cases" / f"{name}.json").read_text()
    text = text.replace("{{unique}}", UNIQUE).replace("<unique>", UNIQUE)
    clock = 0
    for number, step in enumerate(orjson.loads(text)["steps"]):
        clock += int(step.get("sleep", 0) + 0.9)
        if "method" in step:
            yield number, {**step, "time": f"2024-01-01T00:00:{clock:02}Z"}


def _picked(body: Any, step: Mapping[str, Any]) -> Any:
    if "pick" in step:
        return {path: at(body, *map(_step, path.split("."))) for path in step["pick"]}
    return body


def _step(part: str) -> str | int:
    return int(part) if part.isdigit() else part


def _shown(value: Any) -> Any:
    """A body in the form of the recording: moments and identifiers by kind, what the server alone sets left out."""
    if isinstance(value, dict):
        dropped = ("creationTimestamp", "resourceVersion", "generation", "metadata.generation", "uid")
        return {name: _shown(item) for name, item in value.items() if name not in dropped}
    if isinstance(value, list):
        return [_shown(item) for item in value]
    return re.sub(r"2024-01-01T00:00:\d\dZ", "<time>", value) if isinstance(value, str) else value


def _without(value: Any, ignored: list[str]) -> Any:
    for path in ignored:
        *parents, last = path.removeprefix("body.").split(".")
        holder = at(value, *parents) if parents else value
        if isinstance(holder, dict):
            holder.pop(last, None)
    return value


@needs_shared
@pytest.mark.parametrize("name", CASES)
def test_recorded_writes(name: str) -> None:
    """The merge language answers recorded creates, replaces, patches and applies as kube-apiserver did."""
    replica = Replica()
    for number, step in _case(name):
        if number in CASES[name] or (step["method"] == "GET" and step.get("compare") == "status"):
            continue
        status, body = replica.perform(step)
        if step.get("compare") == "status":
            continue
        expected = step["expect"]
        assert status == expected["status"], (number, step["path"], body)
        if "body" in expected and step["method"] != "DELETE":
            ignored = list(step.get("ignore", ()))
            got = _without(_shown(_picked(body, step)), ignored)
            want = _without(_shown(expected["body"]), ignored)
            assert got == want, (number, step["path"])
