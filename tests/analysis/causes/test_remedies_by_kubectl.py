"""Remedies as somebody follows them: the commands run on a server, do what was promised, and can be taken back."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

import pytest

import simkit
from simkit.analysis import Causes, causes
from simkit.analysis.causes import Remedy
from simkit.analysis.escalation.cut.remedy import as_written, stored
from simkit.analysis.least_privilege.change import Change
from simkit.analysis.rbac.objects import SERVICE_ACCOUNTS
from simkit.cluster.cluster import Cluster
from simkit.meta.names import Key
from simkit.meta.objects import Object
from simkit.notebook.kubectl.command import without_program as kubectl
from simkit.seams.snapshot import Snapshot
from tests.analysis.escalation.scenes import served
from tests.analysis.worlds import account, binding, namespace, role, rule

pytestmark = pytest.mark.slow


def run(cluster: Cluster, commands: Iterable[str]) -> None:
    """Type commands, with what they read from their standard input, and let controllers act."""
    for command in commands:
        words = shlex.split(command)
        cut = words.index("<<<") if "<<<" in words else len(words)
        printed = kubectl(cluster, shlex.join(words[1:cut]), "".join(words[cut + 1 :]))
        assert printed.code == 0, f"{command}\n{printed}"
    cluster.settle()


def content(snapshot: Snapshot, key: Key) -> Object | None:
    """An object as people write it, without the note that apply leaves."""
    obj = stored(snapshot, key)
    if obj is None:
        return None
    written = as_written(obj)
    notes = {
        name: value
        for name, value in (written["metadata"].get("annotations") or {}).items()
        if name != "kubectl.kubernetes.io/last-applied-configuration"
    }
    metadata = {name: value for name, value in written["metadata"].items() if name != "annotations"}
    rest = {name: value for name, value in written.items() if value or name not in ("rules", "subjects")}
    return {**rest, "metadata": {**metadata, **({"annotations": notes} if notes else {})}}


def there_and_back(cluster: Cluster, remedy: Remedy) -> None:
    """The commands make what the remedy promises of its objects, and the way back what they were."""
    fork = cluster.fork()
    keys = [change.key for change in remedy.changes]
    before = {key: content(fork.snapshot(), key) for key in keys}
    run(fork, remedy.commands())
    promised = remedy.after()
    assert {key: content(fork.snapshot(), key) for key in keys} == {key: content(promised, key) for key in keys}
    assert {key: content(fork.snapshot(), key) for key in keys} != before
    run(fork, remedy.way_back())
    assert {key: content(fork.snapshot(), key) for key in keys} == before


@pytest.fixture(scope="module")
def demo() -> Cluster:
    """The bundled cluster."""
    return simkit.demo(seed=1)


@pytest.fixture(scope="module")
def found(demo: Cluster) -> Causes:
    """Its root causes."""
    return causes(demo.snapshot())


def test_the_remedy_of_each_cause(demo: Cluster, found: Causes) -> None:
    """Of bindings, roles and labels."""
    remedies = [one.remedy for one in found if one.remedy]
    assert {change.key.resource.resource for one in remedies for change in one.changes} >= {
        *("clusterrolebindings", "clusterroles", "rolebindings", "roles"),
    }
    for remedy in remedies:
        there_and_back(demo, remedy)


def test_the_steps_of_a_plan(demo: Cluster) -> None:
    """One after the other, and all back."""
    fork = demo.fork()
    made = demo.remediation_plan(best=4)
    keys = [change.key for step in made for change in step.changes]
    before = {key: content(fork.snapshot(), key) for key in keys}
    run(fork, made.commands())
    assert len(fork.escalations(goal=("cluster-admin", "all secrets", "a node"))) == made[-1].remaining
    run(fork, made.way_back())
    assert {key: content(fork.snapshot(), key) for key in keys} == before


def test_a_field_that_was_not_written_goes_again() -> None:
    """A service account gets a field, and the way back takes the field away."""
    cluster = served(
        *(namespace("team"), account("team", "app"), role("wide", rule("*", "secrets"))),
        binding("b", "wide", "sa:team/app"),
    )
    key = Key(SERVICE_ACCOUNTS, "team", "app")
    obj = {**(stored(cluster.snapshot(), key) or {}), "automountServiceAccountToken": False}
    remedy = Remedy("", "", (Change(key, obj),), (), cluster.snapshot())
    [command] = remedy.commands()
    assert command.endswith("""-p '{"automountServiceAccountToken":false}'""")
    assert remedy.way_back()[0].endswith("""-p '{"automountServiceAccountToken":null}'""")
    there_and_back(cluster, remedy)
