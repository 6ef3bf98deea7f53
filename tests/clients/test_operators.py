"""The definitions of a cluster full of operators, and their objects, through kubectl."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.shared import SHARED, needs_shared

pytestmark = [
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on this machine"),
    needs_shared,
    pytest.mark.slow,
]
Body = dict[str, Any]


def _anew(obj: Body) -> Body:
    """An object as its author wrote it."""
    noted = {name: obj["metadata"][name] for name in ("name", "namespace", "labels") if name in obj["metadata"]}
    return {**{name: value for name, value in obj.items() if name != "status"}, "metadata": noted}


def _kind(definition: Body) -> tuple[str, str]:
    return definition["spec"]["group"], definition["spec"]["names"]["kind"]


@pytest.fixture(scope="module")
def objects() -> tuple[list[Body], list[Body]]:
    """Definitions (those with objects, and some of the others), and their objects."""
    with gzip.open(SHARED / "datasets" / "operators-and-teams.json.gz") as file:
        items = json.load(file)["items"]
    definitions = [each for each in items if each["kind"] == "CustomResourceDefinition"]
    kinds = {(each["apiVersion"].partition("/")[0], each["kind"]) for each in items}
    chosen = [each for each in definitions if _kind(each) in kinds] + definitions[::20]
    known = {_kind(each) for each in chosen}
    custom = [each for each in items if (each["apiVersion"].partition("/")[0], each["kind"]) in known]
    unique = {each["metadata"]["name"]: _anew(each) for each in chosen}
    return list(unique.values()), [_anew(each) for each in custom]


@pytest.fixture(scope="module")
def kubectl(kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    cache = str(tmp_path_factory.mktemp("cache"))

    def run(*arguments: str, given: Any = None) -> str:
        command = ["kubectl", "--kubeconfig", str(kubeconfig), "--cache-dir", cache, *arguments]
        text = None if given is None else json.dumps({"apiVersion": "v1", "kind": "List", "items": given})
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_definitions_and_objects(kubectl: Callable[..., str], objects: tuple[list[Body], list[Body]]) -> None:
    """Applied on the server as one list, waited for, explained, and shown with their own columns."""
    definitions, custom = objects
    assert len(definitions) >= 15
    for _ in range(2):  # the second time nothing changes
        told = kubectl("apply", "--server-side", "-f", "-", given=definitions).splitlines()
        assert len(told) == len(definitions)
    names = [each["metadata"]["name"] for each in definitions]
    waited = kubectl("wait", "--for", "condition=Established", "crd", *names, "--timeout=30s").splitlines()
    assert len(waited) == len(definitions)
    for namespace in sorted({each["metadata"]["namespace"] for each in custom if "namespace" in each["metadata"]}):
        kubectl("create", "namespace", namespace)
    assert len(kubectl("apply", "--server-side", "-f", "-", given=custom).splitlines()) == len(custom)
    assert kubectl("get", "prometheuses", "-A").split()[:8] == [
        *("NAMESPACE", "NAME", "VERSION", "DESIRED", "READY", "RECONCILED", "AVAILABLE", "AGE")
    ]
    explained = kubectl("explain", "prometheuses.spec.resources", "--recursive")
    assert ("GROUP:      monitoring.coreos.com" in explained, "limits" in explained) == (True, True)
    plurals = {each["spec"]["names"]["plural"] for each in definitions}
    assert plurals <= {line.split()[0] for line in kubectl("api-resources", "--no-headers").splitlines()}
    assert kubectl("delete", "crd", *names, "--wait=false").count("deleted") == len(names)
