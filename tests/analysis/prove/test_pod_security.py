"""The pod security levels as expressions, compared with the levels themselves."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import simkit
from simkit.analysis.catalogue import catalogue_of
from simkit.analysis.prove.object_claim import ObjectCounterexample
from simkit.analysis.prove.pod_security import LEVELS, controls
from simkit.analysis.prove.policy import CheckedPolicy, policy_of_expressions
from simkit.analysis.prove.write import Write
from simkit.logic.podsecurity.evaluate import violations
from simkit.logic.podsecurity.policy import Level, LevelVersion
from simkit.meta.names import GroupResource
from simkit.schema.behaviour import default_behaviour
from simkit.snapshot.memory import MemorySnapshot

PODS = GroupResource("", "pods")


def _maybe(random: Random, made: dict[str, Any], chance: float) -> dict[str, Any]:
    return {name: value for name, value in made.items() if random.random() < chance}


def _security(random: Random, chance: float) -> dict[str, Any]:
    profiles = ("RuntimeDefault", "Localhost", "Unconfined")
    selinux = {"user": "u", "role": "r", "type": random.choice(("container_t", "spc_t"))}
    made = {
        "runAsNonRoot": random.random() < 0.5,
        "appArmorProfile": {"type": random.choice(profiles)},
        "seccompProfile": {"type": random.choice(profiles)},
        "runAsUser": random.choice((0, 1, 1000)),
        "seLinuxOptions": _maybe(random, selinux, 0.3),
        "windowsOptions": _maybe(random, {"hostProcess": random.random() < 0.5}, 0.5),
    }
    return _maybe(random, made, chance)


def _container(random: Random, chance: float, name: str) -> dict[str, Any]:
    drop = ["ALL"] if random.random() < 0.9 else ["CHOWN"]
    add = random.sample(("NET_BIND_SERVICE", "SYS_ADMIN", "CHOWN"), random.randint(0, 2))
    more = {
        "privileged": random.random() < 0.5,
        "procMount": random.choice(("Default", "Unmasked")),
    }
    good = {
        "allowPrivilegeEscalation": random.random() < 0.1,
        "capabilities": {"drop": drop, **_maybe(random, {"add": add}, 0.2)},
    }
    security = {**_security(random, chance), **_maybe(random, more, chance), **_maybe(random, good, 0.95)}
    made: dict[str, Any] = {"name": name, **_maybe(random, {"securityContext": security}, 0.95)}
    port = _maybe(random, {"hostPort": random.choice((0, 80))}, 0.2)
    return {**made, **_maybe(random, {"ports": [{"containerPort": 80, **port}]}, 0.5)}


def pod(random: Random) -> dict[str, Any]:
    """A random pod, mostly near to the levels."""
    chance = random.choice((0.02, 0.1, 0.4))
    sysctls = [{"name": random.choice(("kernel.shm_rmid_forced", "kernel.msgmax")), "value": "1"}]
    volume = {"name": "v", random.choice(("emptyDir", "secret", "hostPath", "nfs")): {}}
    more = {
        **dict.fromkeys(("hostNetwork", "hostPID", "hostIPC"), True),
        "volumes": [volume],
        "initContainers": [_container(random, chance, "a")],
        "os": {"name": random.choice(("linux", "windows"))},
    }
    security = {**_security(random, 2 * chance), **_maybe(random, {"sysctls": sysctls}, chance)}
    spec = {"containers": [_container(random, chance, name) for name in "bc"[: random.randint(1, 2)]]}
    note = {"container.apparmor.security.beta.kubernetes.io/a": random.choice(("runtime/default", "unconfined"))}
    metadata = {"name": "p", "namespace": "default", **_maybe(random, {"annotations": note}, chance)}
    hardened = _maybe(
        random, {"runAsNonRoot": random.random() < 0.9, "seccompProfile": {"type": "RuntimeDefault"}}, 0.9
    )
    security = {**security, **hardened}
    chosen = {**_maybe(random, more, chance), **_maybe(random, {"securityContext": security}, 0.9)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**spec, **chosen}}


@pytest.mark.parametrize("release", ["1.30", "1.32"])
@pytest.mark.parametrize("level", ["baseline", "restricted"])
def test_levels_as_expressions_are_the_levels(level: Level, release: str) -> None:
    """On random pods: the same pass."""
    behaviour, passed = default_behaviour(release), 0
    expressions = controls(level, behaviour)
    assert expressions is not None
    snapshot = MemorySnapshot([], captured=["*"], release=release)
    policy = CheckedPolicy(policy_of_expressions(level, expressions, PODS), snapshot)
    pods = catalogue_of(snapshot).lookup("pods")
    for seed in range(600):
        obj = pod(Random(seed))
        good = not violations(LevelVersion(level), obj["metadata"], obj["spec"], behaviour)
        passed += good
        assert policy.accepts(Write("CREATE", obj), pods) is good, (seed, obj)
    assert 20 < passed < 580


def _all_but(cluster: simkit.Cluster, word: str) -> dict[str, Any]:
    """A policy with the controls of baseline that do not mention a word."""
    expressions = controls("baseline", cluster.snapshot().behaviour)
    assert expressions is not None
    return dict(policy_of_expressions("part", [each for each in expressions if word not in each], PODS))


@pytest.mark.slow
def test_a_control_that_policies_forgot_is_found() -> None:
    """A pod gets through that violates the level; the server takes it."""
    cluster = simkit.Cluster(seed=1)
    answer = cluster.admits("baseline", policies=[_all_but(cluster, "hostPID")])
    (example,) = answer.counterexamples
    assert isinstance(example, ObjectCounterexample)
    assert example.executed
    assert violations(LevelVersion("baseline"), {}, example.object["spec"], default_behaviour("1.30"))


@pytest.mark.slow
def test_policies_that_say_what_a_level_says_are_proven_to() -> None:
    """For each control of the level there is no pod that violates it."""
    cluster = simkit.Cluster(seed=1)
    assert cluster.admits("baseline", policies=[_all_but(cluster, "nothing")]).verdict == "PASS"


def test_levels_of_later_releases_are_not_decided() -> None:
    """What has no expression is UNKNOWN, and levels are about pods."""
    assert controls(LEVELS[0], default_behaviour("1.35")) is None
    assert simkit.Cluster("1.35", seed=1).admits("baseline").verdict == "UNKNOWN"
