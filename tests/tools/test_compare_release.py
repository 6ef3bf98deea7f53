"""The tables of releases are compared with a released client and with the list of feature gates."""

from __future__ import annotations

import zipfile
from pathlib import Path

from tools.compare_release import gate_differences, resource_differences, served_by_client, served_by_tables

_OF_38 = "resource_path='/apis/batch/v2/namespaces/{namespace}/jobs/{name}/status'"


def client(folder: Path, names: set[str]) -> Path:
    """A wheel whose client has resources and subresources, in the paths of cluster and namespaces."""
    lines = []
    for name in sorted(names):
        version, _, resource = name.partition(" ")
        plural, _, part = resource.partition("/")
        prefix = f"/apis/{version}" if "/" in version else f"/api/{version}"
        lines.append(
            f"'{prefix}/namespaces/{{namespace}}/{plural}/{{name}}/{part}'" if part else f"'{prefix}/{plural}'"
        )
    path = folder / "kubernetes-37.0.0-py2.py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("kubernetes/client/api/all_api.py", "\n".join(lines))
        wheel.writestr("kubernetes/client/models/v1_pod.py", "'/api/v9/things'")
    return path


def test_the_client_of_a_release_has_what_the_table_has(tmp_path: Path) -> None:
    """Nothing differs; a resource that one side alone has is told."""
    names = served_by_tables("1.37")
    assert not list(resource_differences(client(tmp_path, names), "1.37"))
    changed = (names - {"apps/v1 deployments/scale"}) | {"batch/v2 jobs"}
    assert list(resource_differences(client(tmp_path, changed), "1.37")) == [
        "batch/v2 jobs: released, not in the table",
        "apps/v1 deployments/scale: in the table, not released",
    ]


def test_paths_of_editions(tmp_path: Path) -> None:
    """The paths stand in the client of each edition in another form."""
    path = tmp_path / "kubernetes-38.0.0-py2.py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("kubernetes/client/api/batch_v2_api.py", _OF_38)
    assert served_by_client(path) == {"batch/v2 jobs/status"}


def test_gates_in_another_state_are_told() -> None:
    """At the release that is asked about; states of later releases, and those since 1.0, do not count."""
    states = [
        {"version": "1.0", "default": True, "lockToDefault": False, "preRelease": "GA"},
        {"version": "1.37", "default": True, "lockToDefault": False, "preRelease": "Deprecated"},
        {"version": "1.38", "default": False, "lockToDefault": False, "preRelease": "Deprecated"},
    ]
    listed = [
        {"name": "KubeProxyIPVS", "versionedSpecs": states},
        {"name": "MemoryQoS", "versionedSpecs": [{**states[1], "preRelease": "Alpha", "default": False}]},
        {"name": "NewGate", "versionedSpecs": [{**states[1], "preRelease": "Beta"}]},
    ]
    assert list(gate_differences(listed, "1.37")) == [
        "gate MemoryQoS: released as ALPHA off, BETA on in the table",
        "gate NewGate: released as BETA on, not in the table",
    ]
    assert not list(gate_differences(listed, "1.36"))
