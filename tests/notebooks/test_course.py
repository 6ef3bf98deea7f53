"""The course runs, its solutions are right, and wrong answers are told what is wrong with them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from simkit.cluster.report.library import notebook
from tests.notebooks.execution import executed

RESOURCES, RBAC = "course/01-resources-verbs-and-subjects.ipynb", "course/02-rbac-from-zero.ipynb"
EXERCISES = {RESOURCES: 4, RBAC: 5}
ORDINALS = ("first", "second", "third", "fourth", "fifth")
API = "apiGroup: rbac.authorization.k8s.io"
WRONG = {
    RESOURCES: [
        ('answer = {"batch", "core"}', ["✗ core", "none of the four belongs to 'core'", "3 more"]),
        (
            'answer = {"apiGroups": [""], "resources": ["pods", "pods/*"], "verbs": ["get"]}',
            [
                "must pass, and was refused (403)",
                "allows pods, which does not include pods/log",
                "the log is not the pod",
            ],
        ),
        (
            'answer = {"apiGroups": [""], "resources": ["deployments"], "verbs": ["get", "patch"]}',
            [
                "is about the API group '' and not 'apps'",
                "also gained: get deployments of the API group '', which has no such resource, in shop",
            ],
        ),
        ('answer = {"system:serviceaccounts", "system:serviceaccounts:shop"}', ["compare with the groups of robot"]),
    ],
    RBAC: [
        (
            f"""answer = '''
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: ben}}
roleRef: {{{API}, kind: ClusterRole, name: edit}}
subjects: [{{{API}, kind: User, name: ben}}]
'''""",
            ["ClusterRoleBinding ben gives ClusterRole edit", "a RoleBinding holds in its own namespace"],
        ),
        (
            f"""answer = '''
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: dora, namespace: shop}}
roleRef: {{{API}, kind: ClusterRole, name: deployment-reader}}
subjects: [{{{API}, kind: User, name: dora}}]
'''""",
            ["near miss", "but there is no such role", "which API group are deployments in?"],
        ),
        (
            """answer = '''
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: till-reader, namespace: shop}
rules: [{apiGroups: [""], resources: [secrets], verbs: ["*"]}]
'''""",
            ["keep resourceNames", "a list hands out all of them"],
        ),
        ('answer = {"user:gus", "user:hal"}', ["✓ user:gus", "no  user:hal: list secrets in bank", "2 more"]),
        (
            'def answer(trial):\n    trial.delete("clusterrolebinding", "helpdesk")',
            ["replace the role, do not remove it", "it comes by a group"],
        ),
    ],
}


def answered(name: str, answers: list[str], folder: Path) -> Any:
    """The notebook after a run with other answers in its exercises."""
    source: Any = nbformat.reads(notebook(name).read_text(), as_version=4)  # type: ignore[no-untyped-call]
    waiting = list(answers)
    for cell in source.cells:
        if any(tag.startswith("answer-") for tag in cell.metadata.get("tags", ())):
            cell.source = waiting.pop(0)
    assert not waiting
    shown = "\n".join(f"print(f'== {word}\\n{{{word}}}')" for word in ORDINALS[: len(answers)])
    source.cells.append(nbformat.v4.new_code_cell(shown))  # type: ignore[no-untyped-call]
    path = folder / Path(name).name
    nbformat.write(source, path)  # type: ignore[no-untyped-call]
    return executed(path, {"seed": 7})


def verdicts(finished: Any) -> list[str]:
    """What the exercises said, in order."""
    text = finished.cells[-1].outputs[0].text
    return [part.partition("\n")[2] for part in text.split("== ")[1:]]


def solutions(name: str) -> list[str]:
    """The solutions that the notebook holds folded away."""
    return re.findall(r"<summary>A solution</summary>\n\n```python\n(.*?)```", _text(name), re.DOTALL)


def _text(name: str) -> str:
    source: Any = nbformat.reads(notebook(name).read_text(), as_version=4)  # type: ignore[no-untyped-call]
    return "\n".join(cell.source for cell in source.cells if cell.cell_type == "markdown")


@pytest.mark.parametrize("name", EXERCISES)
def test_the_notebook_is_clean(name: str) -> None:
    """It has fewer than 40 cells, no outputs, a seed, an exercise with a solution each, and ends with assertions."""
    source: Any = nbformat.reads(notebook(name).read_text(), as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(source)
    assert len(source.cells) < 40
    code = [cell for cell in source.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code)
    assert code[-1].source.count("assert ") > 4
    assert len(solutions(name)) == EXERCISES[name] == len(WRONG[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", EXERCISES)
def test_it_runs_before_anybody_answers(name: str) -> None:
    """With empty answers nothing fails but the exercises."""
    finished: Any = executed(notebook(name), {"seed": 3})
    assert f"exercises done: 0 of {EXERCISES[name]}" in finished.cells[-1].outputs[0].text


@pytest.mark.slow
@pytest.mark.parametrize("name", EXERCISES)
def test_the_solutions_are_right(name: str, tmp_path: Path) -> None:
    """Every exercise accepts the notebook's own solution."""
    for text in verdicts(answered(name, solutions(name), tmp_path)):
        assert text.startswith("Right."), text


@pytest.mark.slow
@pytest.mark.parametrize("name", EXERCISES)
def test_wrong_answers_are_explained(name: str, tmp_path: Path) -> None:
    """A plausible mistake is found by every exercise, with what is wrong and what to think about."""
    answers, expected = zip(*WRONG[name])
    for text, words in zip(verdicts(answered(name, list(answers), tmp_path)), expected):
        assert text.startswith("Not yet"), text
        for word in words:
            assert word in text
