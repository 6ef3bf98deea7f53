"""Checks of objects and statements, predictions, points and diagrams, of which lessons are made."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest

import simkit
from simkit.notebook import (
    Exercise,
    Prediction,
    chain_diagram,
    must_accept,
    must_hold,
    must_refuse,
    points,
    sequence_diagram,
)
from simkit.notebook.answer_shape import Shape

CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}


@pytest.fixture(scope="module")
def cluster() -> simkit.Cluster:
    return simkit.Cluster(seed=1)


def test_statements_and_objects_are_checked_on_the_fork(cluster: simkit.Cluster) -> None:
    """A fault is told with the hint; an object is tried and not kept; a missing object is no error of the exercise."""
    checks: list[Any] = [
        must_hold("there is a", lambda trial: None if trial.get("configmap", "a") else "no", hint="create it"),
        must_accept("another", {**CONFIG, "metadata": {"name": "b"}}),
        must_refuse("a bad name", {**CONFIG, "metadata": {"name": "B"}}, because="RFC 1123"),
        must_refuse("a good name", {**CONFIG, "metadata": {"name": "c"}}, hint="think"),
        must_refuse("a bad name again", {**CONFIG, "metadata": {"name": "B"}}, because="quota"),
        must_accept("a stranger's", {**CONFIG, "metadata": {"name": "d"}}, subject="user:nobody"),
    ]
    verdict = Exercise(cluster, "Create a.", checks).check([CONFIG])
    assert [note.right for note in verdict.notes] == [True, True, True, False, False, False]
    assert verdict.notes[3].details == ("it must be refused, and was accepted", "think")
    assert "for another reason than 'quota'" in verdict.notes[4].details[0]
    assert 'User "nobody" cannot' in verdict.notes[5].details[0]
    missing = Exercise(cluster, "Create a.", checks[:1]).check(lambda trial: None)
    assert missing.notes[0].details == ('configmaps "a" not found', "create it")


def test_an_error_of_the_answer_is_explained(cluster: simkit.Cluster) -> None:
    """With its line, and without a traceback."""

    def answer(trial: simkit.Cluster) -> None:
        trial.get("configmap", "kube-root-ca.crt", "kube-system")["nothing"]

    (note,) = Exercise(cluster, "Anything.", []).check(answer).notes
    assert note.text == "the answer stopped with an error"
    assert note.details[0] == "KeyError: 'nothing'"
    assert note.details[1].startswith("in the line: trial.get")


def test_a_refused_request_of_the_answer_is_told_with_its_line(cluster: simkit.Cluster) -> None:
    """The message of the server, and the line of ``answer`` that sent the request."""

    def answer(trial: simkit.Cluster) -> None:
        trial.delete("configmap", "nothing", "default")

    (note,) = Exercise(cluster, "Anything.", []).check(answer).notes
    assert note.details == (
        'configmaps "nothing" not found',
        'in the line: trial.delete("configmap", "nothing", "default")',
    )


@pytest.mark.parametrize(
    ("shape", "answer", "told"),
    [
        (None, "notebooks", "the answer must be a manifest"),
        ("dictionary", ["get"], "it is of the type list: ['get']"),
        ("function", {"kind": "Role"}, "the answer must be a function: def answer(...)"),
        ("pair", ("merge",), "the answer must be a pair"),
    ],
)
def test_answers_of_another_shape_are_told_so(
    cluster: simkit.Cluster, shape: Shape | None, answer: object, told: str
) -> None:
    """They are not carried out; a single word is not taken for the path of a file."""
    assert told in str(Exercise(cluster, "Anything.", [], shape=shape).check(answer))


def test_answers_of_another_form_are_carried_out_by_the_exercise(cluster: simkit.Cluster) -> None:
    """``carry_out`` gets a fork and the answer; an empty answer does not reach it."""
    checks = [must_hold("b is there", lambda trial: "" if trial.get("configmap", "b") else "no")]
    exercise = Exercise(
        cluster, "A name.", checks, carry_out=lambda trial, name: trial.apply([{**CONFIG, "metadata": {"name": name}}])
    )
    assert exercise.check("b")
    assert "the answer is empty" in str(exercise.check(""))


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"x": 1, "y": 2}, ["Right.", "✓ x: 1"]),
        ({"x": 2, "y": ...}, ["✗ x: you said 2, and it is otherwise", "x of it", "y: no prediction yet"]),
        (
            {"x": "1", "y": 2, "z": 3},
            ["write a number, without quotes", "no such key: 'z'", "the keys are the texts 'x', 'y'"],
        ),
        ([1, 2], ["the answer must be a dictionary", "with the keys 'x', 'y'"]),
    ],
)
def test_predictions(cluster: simkit.Cluster, answer: object, told: list[str]) -> None:
    """Each case is compared with what happens, and explained."""
    question = Prediction(
        cluster, "<x> and y", lambda trial: {"x": 1, "y": 2}, lambda trial, case, said: f"{case} of it"
    )
    verdict = question.check(answer)
    assert [word for word in told if word not in str(verdict)] == []
    assert "&lt;x&gt;" in question._repr_html_()


def test_points_count_what_is_right(cluster: simkit.Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """And name what is open."""
    question = Prediction(cluster, "x", lambda trial: {"x": 1})
    assert points({"one": question.check({"x": 1}), "two": question.check({})}) == 1
    assert capsys.readouterr().out == "exercises done: 1 of 2; open: two\n"


def test_diagrams_escape_what_they_show() -> None:
    """They are SVG for notebooks, and say the same as text."""
    drawn = sequence_diagram([("ann", "server", "GET <pods> & more"), ("server", "server", "a note")])
    assert "&lt;pods&gt; &amp; more" in drawn._repr_svg_()
    assert "<pods>" not in drawn._repr_svg_()
    assert str(drawn) == "ann -> server: GET <pods> & more\nserver -> server: a note"
    assert chain_diagram([("a", ""), ("b", "last")])._repr_svg_().count("<rect") == 3


def test_parties_stand_as_near_as_names_and_messages_allow() -> None:
    """A drawing with six parties can be read on a narrow page: one long name or message does not move all apart."""
    names = ["ann", "API server", "deployment controller", "scheduler", "kubelet", "pod"]
    drawn = sequence_diagram(
        [(names[0], names[1], "a message of thirty-one letters"), *((names[1], each, "ADDED") for each in names[2:])]
    )
    middles = [float(each) for each in re.findall(r'<line x1="([0-9.]+)" y1="44"', drawn.svg)]
    gaps = [after - before for before, after in pairwise(middles)]
    assert gaps[0] == max(gaps), "beside the long message"
    assert gaps[-1] < gaps[1] / 1.5, "short names stand near"


def test_a_long_message_has_several_lines_and_a_drawing_fits_its_page() -> None:
    """Nothing is wider than a page: long texts are wrapped, and the drawing shrinks with its page."""
    text = "Apply failed with 2 conflicts: " + "conflicts with somebody " * 6
    long, short = (sequence_diagram([("ann", "server", each), ("server", "server", each)]) for each in (text, "short"))
    widths = [float(re.search(r'width="([0-9.]+)"', each.svg)[1]) for each in (long, short)]  # type: ignore[index]
    assert widths[1] < widths[0] < 700
    assert "somebody" in long.svg
    assert text in str(long)
    assert "max-width:100%;height:auto" in long._repr_html_()
