"""Answers to exercises are carried out on forks, tried as the subjects, and explained."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

import pandas as pd
import pytest

import simkit
from simkit.notebook import Exercise, Guess, Prediction, Verdict, as_it_is, must, must_not
from tests.analysis.worlds import account, binding, namespace, role, rule

ATTEMPTS = [
    must("user:ann", "list", "pods", namespace="shop", hint="think of list"),
    must_not("user:ann", "list", "pods", namespace="kube-system", hint="a ClusterRoleBinding reaches everywhere"),
    must_not("user:ann", "delete", "pods", namespace="shop", name="web"),
]
ANSWER = [
    role("pods", rule("list", "pods"), namespace="shop"),
    binding("ann", "pods", "user:ann", namespace="shop", local=True),
]


@pytest.fixture(scope="module")
def cluster() -> simkit.Cluster:
    """A cluster with a namespace and an account."""
    made = simkit.Cluster(seed=1)
    made.apply([namespace("shop"), account("shop", "robot")])
    return made


@pytest.fixture(scope="module")
def exercise(cluster: simkit.Cluster) -> Exercise:
    """To let ann list the pods of shop, and no more."""
    return Exercise(cluster, "Let ann <list> pods in shop, and no more.", ATTEMPTS, exact=True)


def test_a_right_answer(cluster: simkit.Cluster, exercise: Exercise) -> None:
    """Every attempt goes as it must, nothing more was gained, and the cluster is as it was."""
    before = cluster.engine.store.revision
    verdict = exercise.check(ANSWER)
    assert verdict
    assert [note.right for note in verdict.notes] == [True] * 4
    assert str(verdict).startswith("Right.\n  ✓ user:ann can list pods in shop")
    assert cluster.engine.store.revision == before


def test_a_wide_answer_is_told_in_a_few_lines(cluster: simkit.Cluster, exercise: Exercise) -> None:
    """The first permissions beyond the task, and how many more there are."""
    note = exercise.check([binding("ann", "admin", "user:ann", namespace="shop")]).notes[-1]
    assert len(note.details) == 9
    assert re.fullmatch(r"and \d{2,} more", note.details[-1])


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("", ["the answer is empty"]),
        ([], ["the answer is empty"]),
        ("kind: [", ["the answer does not work", "a document that is not YAML"]),
        ([role("pods", {"apiGroups": [""], "resources": ["pods"]}, namespace="shop")], ["verbs: Required value"]),
        (
            ANSWER[:1],
            ["GET /api/v1/namespaces/shop/pods of user:ann must pass, and was refused (403)", "think of list"],
        ),
        (
            [role("pods", rule("list", "pods")), binding("ann", "pods", "user:ann")],
            [
                "GET /api/v1/namespaces/kube-system/pods of user:ann must be refused, and passed",
                "ClusterRoleBinding ann grants ClusterRole pods",
                "a ClusterRoleBinding reaches everywhere",
                "user:ann also gained: list pods everywhere",
            ],
        ),
        (
            [role("pods", rule("get", "pods"), namespace="shop"), ANSWER[1]],
            ["near miss: RoleBinding shop/ann grants", "allows get, not list"],
        ),
        (
            [role("pods", rule("list,delete", "pods", names="web"), namespace="shop"), ANSWER[1]],
            ["is limited to the names web", "DELETE /api/v1/namespaces/shop/pods/web of user:ann must be refused"],
        ),
        (
            [role("pods", rule("list", "pods,pods/log"), namespace="shop"), ANSWER[1]],
            ["more was done than was asked for", "also gained: list pods/log in shop"],
        ),
        (
            [role("pods", rule("list", "pods", groups="apps"), namespace="shop"), ANSWER[1]],
            [
                "names the API group 'apps', not ''",
                "something else was done than was asked for",
                "also gained: list pods of the API group 'apps', which has no such resource, in shop",
            ],
        ),
        (
            [role("pods", rule("list", "pod"), namespace="shop"), ANSWER[1]],
            ["list pod of the API group '', which has no such resource (did you mean pods?), in shop"],
        ),
        (
            [role("pods", rule("list", "pods/logs"), namespace="shop"), ANSWER[1]],
            ["list pods/logs, which is no subresource (did you mean pods/log?), in shop"],
        ),
        (
            [ANSWER[0], binding("ann", "pods", "user:Ann", namespace="shop", local=True)],
            ["the bindings of the answer name user:Ann, and not user:ann"],
        ),
    ],
)
def test_wrong_answers_are_explained(exercise: Exercise, answer: object, told: list[str]) -> None:
    """An explanation has the fault, its reason, and the hint."""
    verdict = exercise.check(answer)
    assert not verdict
    for words in told:
        assert words in str(verdict)


def test_an_answer_that_exits_is_explained(cluster: simkit.Cluster) -> None:
    """A function that calls ``sys.exit`` is a wrong answer, and ends neither the check nor the kernel."""

    def answer(trial: simkit.Cluster) -> None:
        raise SystemExit(f"{len(trial.list('namespaces', None)) > 0}: enough")

    verdict = Exercise(cluster, "task", ATTEMPTS).check(answer)
    assert not verdict
    assert "SystemExit: True: enough" in str(verdict)
    assert "in the line: raise SystemExit" in str(verdict)


def test_an_answer_may_be_a_function(cluster: simkit.Cluster) -> None:
    """An answer may delete an object on the fork; a missing object is reported."""
    open_door = cluster.fork()
    open_door.apply([*ANSWER, binding("extra", "cluster-admin", "user:ann")])
    exercise = Exercise(open_door, "Close the door.", ATTEMPTS)
    assert exercise.check(lambda trial: trial.delete("clusterrolebinding", "extra"))
    assert "not found" in str(exercise.check(lambda trial: trial.delete("clusterrolebinding", "other")))


@pytest.mark.parametrize("verb", ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"])
@pytest.mark.parametrize("resource", ["pods", "pods/status", "nodes", "deployments"])
def test_every_verb_is_tried_as_itself(cluster: simkit.Cluster, verb: str, resource: str) -> None:
    """The server asks its authorizer for just the verb and resource that the attempt names."""
    if "/" in resource and verb in ("list", "watch", "create", "deletecollection"):
        pytest.skip("subresources have no collections")
    group = "apps" if resource == "deployments" else "core"
    trial = cluster.fork()
    trial.apply([role("one", rule(verb, resource, groups=group)), binding("one", "one", "user:ann")])
    where = "" if resource == "nodes" else "shop"
    assert must("user:ann", verb, resource, namespace=where).tried(trial).passed
    assert must_not("user:bob", verb, resource, namespace=where).tried(trial).passed


def test_other_verbs_are_no_attempts(cluster: simkit.Cluster) -> None:
    """An author of exercises hears what cannot be tried."""
    with pytest.raises(simkit.SimkitError, match="no verb of requests"):
        must("user:ann", "bind", "roles").tried(cluster)


def test_a_guess_is_compared(cluster: simkit.Cluster) -> None:
    """Words are right or explained, and what is missing is counted or named."""

    def groups(of: simkit.Cluster) -> set[str]:
        return {namespace["metadata"]["name"] for namespace in of.list("namespaces")}

    assert Guess(cluster, "?", groups).check(groups(cluster))
    wrong = Guess(cluster, "?", groups, explain=lambda _, word: f"there is no {word}").check("nowhere")
    assert "✗ nowhere\n      there is no nowhere" in str(wrong)
    assert f"{len(groups(cluster))} more" in str(wrong)
    assert "shop" in str(Guess(cluster, "?", groups, reveal=True).check(()))


def test_verdicts_and_tasks_are_escaped(exercise: Exercise) -> None:
    """Texts cannot become markup."""
    assert "&lt;list&gt;" in exercise._repr_html_()
    assert "<b>Question.</b> a &lt; b" in Guess(exercise.cluster, "a < b", lambda _: ())._repr_html_()
    html = exercise.check("<b>: [")._repr_html_()
    assert "✗</b> the answer does not work<ul>" in html
    assert "<b>: [" not in html
    assert Verdict(()).right


def test_long_answers_are_told_in_part(cluster: simkit.Cluster) -> None:
    """A text that nobody can read is cut, in words and in HTML."""
    wrong = Guess(cluster, "?", lambda _: {"a"}).check("x" * 10_000)
    assert "… (10000 letters)" in str(wrong)
    assert max(len(str(wrong)), len(wrong._repr_html_())) < 3_000


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (pd.DataFrame({"a": [1]}), ["the answer must be a manifest", "it is of the type DataFrame"]),
        (["a", "b"], ["the answer must be a manifest", "it is of the type list"]),
        ("metadata: {name: x}", ["an object without apiVersion and kind"]),
        ("- pods\n- get", ["an object has apiVersion, kind and metadata"]),
        (lambda trial: ANSWER, ["nothing is done with it: call trial.apply(...)"]),
        (lambda: None, ["the function must take one argument"]),
        (lambda trial: (yield trial), ["the function must not have a yield"]),
        (lambda trial: trial.delete("namespace", "shop"), ["the namespace shop is gone, with everything in it"]),
    ],
)
def test_the_form_of_an_answer_is_told(exercise: Exercise, answer: object, told: list[str]) -> None:
    """Values of other types, lines that are no object, and functions that cannot do anything."""
    verdict = exercise.check(answer)
    assert not verdict
    assert [words for words in told if words not in str(verdict)] == [], str(verdict)
    assert "CHANGELOG" not in str(verdict), "a text is no path of a file"


def test_an_asynchronous_answer_is_told(exercise: Exercise) -> None:
    """Nobody waits for it, and no coroutine is left behind."""

    async def answer(trial: simkit.Cluster) -> None:
        trial.apply(ANSWER)

    assert "write def without async" in str(exercise.check(answer))


def test_an_interrupted_answer_is_told(exercise: Exercise) -> None:
    """A learner who interrupts the kernel reads where the answer was."""

    def answer(trial: simkit.Cluster) -> None:
        raise KeyboardInterrupt

    told = str(exercise.check(answer))
    assert "the answer was interrupted" in told
    assert "in the line: raise KeyboardInterrupt" in told


@pytest.mark.parametrize(("said", "right"), [(HTTPStatus.OK, True), (200.0, True), (True, False), ("200", False)])
def test_a_number_may_be_written_in_any_way(cluster: simkit.Cluster, said: object, right: bool) -> None:
    """What equals the number is right; truth values and texts are no numbers."""
    verdict = Prediction(cluster, "?", lambda _: {"status": 200}).check({"status": said})
    assert bool(verdict) is right
    assert right or "write a number, without quotes" in str(verdict)


def test_a_truth_value_is_no_number(cluster: simkit.Cluster) -> None:
    """``1`` is told how to be written."""
    verdict = Prediction(cluster, "?", lambda _: {"so": True}).check({"so": 1})
    assert "write True or False, without quotes" in str(verdict)


def test_a_guess_in_one_text_is_told(cluster: simkit.Cluster) -> None:
    """Words with commas between them, and nothing at all."""
    guess = Guess(cluster, "Which verbs?", lambda _: {"get", "list"})
    assert "one text with commas in it" in str(guess.check("get, list"))
    assert "the answer is empty" in str(guess.check(set()))
    assert Guess(cluster, "Which verbs?", lambda _: set[str]()).check(set()), "nothing can be right"


def test_an_answer_that_changes_the_given_cluster_is_told(cluster: simkit.Cluster) -> None:
    """Even if the fork would be right, the learner must start again."""
    start = cluster.fork()

    def answer(trial: simkit.Cluster) -> None:
        start.apply(namespace("mine"))
        trial.apply(ANSWER)

    verdict = Exercise(start, "task", ATTEMPTS).check(answer)
    assert [note.text for note in verdict.notes if not note.right] == [
        "the answer changed the cluster that the exercise starts from"
    ]


def test_an_answer_that_removes_much_is_told(cluster: simkit.Cluster) -> None:
    """The first of the removed objects are named; a few removed objects are not mentioned."""

    def answer(trial: simkit.Cluster) -> None:
        for each in trial.list("clusterroles")[:12]:
            trial.delete("clusterrole", each["metadata"]["name"])

    told = str(Exercise(cluster, "task", ATTEMPTS).check(answer))
    assert "the answer removed more than it should" in told
    assert "and 4 more" in told


def test_unknown_keys_of_an_answer_are_told(cluster: simkit.Cluster) -> None:
    """With the key that was meant, beside what the checks find."""
    exercise = Exercise(
        cluster, "task", ATTEMPTS[1:], carry_out=lambda *_: None, shape="dictionary", keys=["verbs", "resources"]
    )
    verdict = exercise.check({"verb": ["get"]})
    assert "no such key: 'verb' (did you mean 'verbs'?)" in str(verdict)
    assert [note.right for note in verdict.notes] == [False, True, True]


def test_names_have_no_wildcards(cluster: simkit.Cluster, exercise: Exercise) -> None:
    """A rule for objects named ``*`` is explained."""
    told = exercise.check([role("pods", rule("list", "pods", names="*"), namespace="shop"), ANSWER[1]])
    assert "is limited to the names *, but a list without a name asks for all objects" in str(told)
    named = Exercise(cluster, "task", [must("user:ann", "get", "pods", namespace="shop", name="web")])
    told = named.check([role("pods", rule("get", "pods", names="*"), namespace="shop"), ANSWER[1]])
    assert "is limited to the names *; resourceNames do not support wildcards" in str(told)


@pytest.mark.parametrize(
    ("also", "told"),
    [
        (binding("bob", "pods", "user:bob", namespace="shop", local=True), "user:bob also gained: list pods in shop"),
        (role("system:basic-user", rule("list", "nodes")), "group:system:authenticated also lost: create self"),
        (role("system:basic-user", rule("list", "nodes")), "clusterroles system:basic-user was changed: metadata."),
        ({**namespace("shop"), "metadata": {"name": "shop", "labels": {"a": "b"}}}, "namespaces shop was changed:"),
    ],
)
def test_an_exact_exercise_is_about_everybody_and_everything(exercise: Exercise, also: Any, told: str) -> None:
    """Access of subjects that the task does not name, and objects that were there, must stay as they are."""
    assert told in str(exercise.check([*ANSWER, also]))


def test_objects_that_an_answer_may_change(cluster: simkit.Cluster) -> None:
    """The others are told by what happened to them; what the task takes away may be lost."""
    start = cluster.fork()
    start.apply([role("pods", rule("delete", "pods"), namespace="shop"), ANSWER[1], account("shop", "other")])

    def task(*may_change: str) -> Exercise:
        return Exercise(start, "task", ATTEMPTS, exact=True, may_change=may_change)

    assert task("roles shop/pods").check(ANSWER)
    assert "roles shop/pods was changed: rules[0].verbs" in str(task().check(ANSWER))

    def and_more(trial: simkit.Cluster) -> None:
        trial.apply(ANSWER)
        trial.delete("serviceaccount", "other", "shop")

    told = str(task("roles *").check(and_more))
    assert "something was changed or removed that had to stay as it was" in told
    assert "serviceaccounts shop/other is gone" in told
    assert task("roles *", "serviceaccounts shop/*").check(and_more)
    assert "namespace shop is gone" in str(task().check(lambda trial: trial.delete("namespace", "shop")))


def test_a_cluster_that_is_right_already_is_told(cluster: simkit.Cluster) -> None:
    """An answer that was applied to the lesson's own cluster makes any other answer right."""
    start = cluster.fork()
    start.apply(ANSWER)
    verdict = Exercise(start, "task", ATTEMPTS).check(account("shop", "other"))
    assert [note.text for note in verdict.notes if not note.right] == ["everything was so before the answer"]
    assert Exercise(start, "task", ATTEMPTS, carry_out=as_it_is).check("anything"), "the checks look at the answer"


@pytest.mark.parametrize("answer", [tuple(ANSWER), {"apiVersion": "v1", "kind": "List", "items": ANSWER}])
def test_manifests_have_many_forms(exercise: Exercise, answer: object) -> None:
    """What says the same is as right."""
    assert exercise.check(answer)


def test_what_has_no_signature_is_called(exercise: Exercise) -> None:
    """A type is an answer like others, and a wrong one."""
    assert "the answer stopped with an error" in str(exercise.check(int))


def test_a_prediction_in_another_form_is_told(cluster: simkit.Cluster) -> None:
    """A word in capitals, and a list."""
    outcomes = {"a": True, "b": 2, "c": "stored"}
    prediction = Prediction(cluster, "?", lambda _: outcomes)
    assert "write the word as the task does" in str(prediction.check({**outcomes, "c": "Stored "}))
    assert "of the type list: ['a', 'b']" in str(prediction.check(["a", "b"]))
