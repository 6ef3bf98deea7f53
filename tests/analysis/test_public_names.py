"""A walk over all public names: signatures, types, docstrings, examples, and subjects from every table to every argument."""

from __future__ import annotations

import doctest
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import simkit
import simkit.fleet
import simkit.testing
from simkit import Cluster, analysis
from simkit.analysis import parse_subject, text_of
from simkit.cluster.analysis_methods import AnalysisMethods

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
FUNCTIONS = sorted(name for name in analysis.__all__ if inspect.isfunction(getattr(analysis, name)))
CLASSES = sorted(name for name in analysis.__all__ if inspect.isclass(getattr(analysis, name)))
METHODS = sorted(name for name in dir(AnalysisMethods) if name in FUNCTIONS)
SUBJECTS = ("subject", "subjects", "impersonator")
"""Columns that hold subjects."""
SCRIPT = """
import pandas as pd
import simkit
from simkit import analysis

cluster: simkit.Cluster = simkit.demo()
rows: pd.DataFrame = cluster.who_can("get", "secrets", namespace="payments")
decision: analysis.AccessDecision = cluster.can("user:alice", "delete", "pods", namespace="shop", groups=["devs"])
reason: str = decision.reason
paths: analysis.Escalations = cluster.escalations("group:oidc:helpdesk", goal="cluster-admin", max_hops=3)
first: analysis.Path = paths[0]
severe: bool = first.severity >= "high" and first.severity is not analysis.Severity.LOW
evidence: analysis.Evidence = first.prove()
holds: bool = evidence.holds
audit: analysis.Audit = cluster.audit(include_defaults=True)
worst: list[analysis.Severity] = [finding.severity for finding in audit.findings]
with cluster.what_if() as trial:
    trial.delete("clusterrolebinding", "pellowick:toolbox")
change: pd.DataFrame = trial.compare()
report: analysis.UpgradeReport = cluster.removal_report(release="1.32")
answer: analysis.ResultDict = report.to_dict()
first_row: dict[str, analysis.JsonValue] = answer["rows"][0]
same: pd.DataFrame = analysis.who_can(cluster.snapshot(), "get", "secrets")
result: analysis.Result = analysis.audit(cluster.snapshot())
"""
WRONG = """
import simkit
cluster = simkit.demo()
cluster.who_can("get", "secrets", "payments", "dev")
cluster.can("user:alice", "get", "pods", namespaces="shop")
number: int = cluster.escalations("user:alice")
"""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_typed_and_described(name: str) -> None:
    """Every parameter and result has a type; docstrings have their sections, and a plain first line."""
    function: Callable[..., Any] = getattr(analysis, name)
    signature, text = inspect.signature(function), inspect.getdoc(function) or ""
    for parameter in signature.parameters.values():
        assert parameter.annotation is not inspect.Parameter.empty, parameter
        assert parameter.kind is not inspect.Parameter.VAR_KEYWORD or name == "cel", parameter
    assert signature.return_annotation is not inspect.Signature.empty
    assert text.partition("\n")[0].endswith("."), text
    if "DataFrame" in str(signature.return_annotation):
        assert "Returns\n-------" in text
        assert re.search(r"[Oo]ne row|[Rr]ows|column", text), "the columns are not told"
    for parameter in list(signature.parameters.values())[1:]:
        if "Parameters\n----------" in text:
            assert re.search(rf"^(\*?\w+, )*\*{{0,2}}{parameter.name}(, \w+)*$", text, re.MULTILINE), parameter.name


def callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public function, and every public method and property of every public class, by name."""
    for module in (simkit, analysis, simkit.testing, simkit.fleet):
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value):
                yield name, value
            elif inspect.isclass(value):
                for inner, member in inspect.getmembers(value):
                    found = member.fget if isinstance(member, property) else inspect.unwrap(member)
                    public = not inner.startswith("_") or inner in ("__init__", "__call__")
                    if public and inspect.isfunction(found) and found.__module__.startswith("simkit"):
                        yield f"{name}.{inner}", found


def test_no_public_signature_says_any() -> None:
    """Parameters and results have types that say what may be given and what comes back."""
    found = dict(callables())
    assert len(found) > 400
    saying = [
        f"{name}: {one}"
        for name, function in found.items()
        for signature in (inspect.signature(function),)
        for one in (*signature.parameters.values(), signature.return_annotation)
        if re.search(r"\bAny\b", str(one))
    ]
    assert saying == []


@pytest.mark.parametrize("name", METHODS)
def test_examples_of_methods_run(name: str) -> None:
    """The example that an editor shows is one that works."""
    text = inspect.getdoc(getattr(Cluster, name)) or ""
    assert ">>>" in text, "there is no example"
    found = doctest.DocTestParser().get_doctest(text, {"simkit": simkit, "pd": pd}, name, None, 0)
    assert doctest.DocTestRunner(verbose=False).run(found).failed == 0


def test_classes_say_what_they_are() -> None:
    """Each has a docstring of its own, and methods with one each."""
    for name in CLASSES:
        made = getattr(analysis, name)
        assert inspect.getdoc(made), name
        for method, value in inspect.getmembers(made, inspect.isfunction):
            own = value.__module__.startswith("simkit") and not method.startswith("_")
            assert not own or inspect.getdoc(value), f"{name}.{method}"


def test_names_are_listed() -> None:
    """``dir`` and ``from simkit import *`` give what there is."""
    assert set(simkit.__all__) <= set(dir(simkit))
    for name in simkit.__all__:
        assert getattr(simkit, name) is not None
    for name in analysis.__all__:
        assert hasattr(analysis, name)


def test_a_users_script_is_well_typed(tmp_path: Path) -> None:
    """Under mypy --strict; and what is called in the wrong way is found there."""
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "wrong.py").write_text(WRONG)
    if not (ROOT / ".mypy_cache").exists():
        pytest.skip("without a cache mypy takes minutes: make check makes one")
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    wrong = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert [line for line in wrong if "wrong.py" not in line] == []
    assert len(wrong) == 3, done.stdout


def _subjects(rows: pd.DataFrame) -> Iterator[str]:
    for column in SUBJECTS:
        if column in rows:
            for value in rows[column]:
                yield from [value] if isinstance(value, str) else value


def test_subjects_go_from_every_table_to_every_argument() -> None:
    """Each text is read back as itself, and every question that takes a subject takes it."""
    cluster = simkit.demo(seed=1)
    log = [{"kind": "Event", "verb": "get", "requestURI": "/api", "user": {"username": "system:serviceaccount:a:b"}}]
    paths = cluster.escalations(goal="cluster-admin")
    account = next(text for text in cluster.subjects()["subject"] if text.startswith("sa:"))
    tables = (
        *(cluster.who_can("get", "secrets"), cluster.subjects(), cluster.bindings(), cluster.findings()),
        *(cluster.reach(), paths.to_frame(), paths[:1].prove().to_frame(), analysis.audit_events(log)),
        cluster.permissions(account),
        cluster.can(account, "get", "pods").to_frame(),
    )
    texts = {text for rows in tables for text in _subjects(rows) if text}
    assert len(texts) > 50
    assert {text.partition(":")[0] for text in texts} == {"user", "group", "sa"}
    assert all(text_of(parse_subject(text)) == text for text in texts)
    for text in sorted(texts)[::40]:
        cluster.can(text, "get", "pods")
        cluster.permissions(text)
        cluster.access_matrix([text], resources=["pods"])
        cluster.escalations(text, goal="cluster-admin")
        cluster.blast_radius(text, max_hops=0)
        cluster.risky_permissions(text)
