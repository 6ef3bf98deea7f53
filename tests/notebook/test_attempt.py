"""What the server warns of while an answer is carried out is told to learners whose answer is wrong."""

from __future__ import annotations

from typing import Any

import simkit
from simkit.notebook import Exercise, must_hold
from simkit.notebook.learner_code import Attempt

POD: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}


def _exercise() -> Exercise:
    cluster = simkit.Cluster(seed=1)
    return Exercise(
        cluster,
        "A pod with two labels.",
        [
            must_hold(
                "it has them", lambda trial: None if len(trial.get("pod", "a")["metadata"]["labels"]) == 2 else "no"
            )
        ],
    )


def _pod(**more: Any) -> dict[str, Any]:
    labels = {"one": "1", "two": "2"}
    return {
        **POD,
        "metadata": {**POD["metadata"], "labels": labels},
        "spec": {"containers": [{"name": "a", "image": "a", **more}]},
    }


def test_a_field_in_a_wrong_place_is_told() -> None:
    """The server leaves it out, so that nothing in the objects says why."""
    wrong = {**_pod(label="x"), "metadata": {"name": "a", "labels": {"one": "1"}}}
    told = str(_exercise().check(wrong))
    assert "the server took the answer with a warning" in told
    assert 'unknown field "spec.containers[0].label"' in told
    assert "with a warning" in str(_exercise().check(lambda trial: trial.apply(wrong)))


def test_a_right_answer_may_have_warnings() -> None:
    """What is asked for decides."""
    assert _exercise().check(_pod(label="x"))


def test_a_fork_of_an_attempt_has_warnings_of_its_own() -> None:
    """A check that tries something on a fork adds nothing to those of the answer."""
    trial = Attempt.on(simkit.Cluster(seed=1))
    trial.fork().apply(_pod(label="x"))
    assert trial.warned == []
