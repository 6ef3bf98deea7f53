"""A cluster in which every name was chosen by an attacker: proposed commands, YAML, notebooks, figures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

import simkit
from simkit.analysis.access.can import can
from simkit.analysis.access.compare import compare
from simkit.analysis.escalation import blast_radius, cut, escalations
from simkit.analysis.findings import audit
from simkit.analysis.least_privilege import least_privilege
from simkit.analysis.plots import access_drift, subjects_by_role
from simkit.analysis.rbac.tables import access_graph
from simkit.present.escaping import kubectl_command
from simkit.snapshot.dump import Dump
from simkit.snapshot.load import load
from tests.security.hostile_cluster import (
    HOSTILE,
    Elements,
    assert_visible,
    run_by_shell,
)
from tests.security.hostile_commands import SUBJECTS
from tests.security.hostile_files import write_hostile_files
from tools.make_hostile_cluster import PAYLOADS

CHOSEN = set(PAYLOADS.values())
_ESCAPES = re.compile(r"^ *(?:import html$|from html import)", re.MULTILINE)
LABELLED = ("pod-security.kubernetes.io/enforce=baseline", "--overwrite")
"""What the command that labels a namespace says besides its name."""


@pytest.fixture(scope="module")
def dump() -> Dump:
    return load(HOSTILE, captured=["*"])


def test_commands_of_findings_are_run_by_a_shell_as_they_are_meant(dump: Dump, tmp_path: Path) -> None:
    """A shell that runs every proposed command calls kubectl once for each, with the names that are in the cluster."""
    commands = [finding.command for finding in audit(dump.snapshot()).findings if finding.command]
    commands = [command for command in commands if "\\x00" not in command]
    calls = run_by_shell(commands, tmp_path)
    assert len(calls) == len(commands) > len(PAYLOADS)
    names = {key.name for key in dump.origins}
    assert {call[0] for call in calls} == {"delete", "label"}
    for call in calls:
        rest = [word.removeprefix("--namespace=") for word in call[2:] if word not in ("--", "--namespace")]
        assert set(rest) - set(LABELLED if call[0] == "label" else ()) <= names | CHOSEN


@pytest.mark.slow
def test_commands_of_cuts_are_run_by_a_shell_as_they_are_meant(dump: Dump, tmp_path: Path) -> None:
    """So do the commands of a cut, and those in the comments of its YAML."""
    made = cut(dump.snapshot(), goal="all secrets", direct=True)
    comments = [line.removeprefix("# ") for line in made.yaml().splitlines() if line.startswith("# ")]
    commands = [line for line in [*made.commands(), *comments] if "\\x00" not in line]
    calls = run_by_shell(commands, tmp_path)
    assert len(calls) == len(commands) > len(PAYLOADS) // 2
    assert {call[0] for call in calls} <= {"delete", "patch", "apply"}


@pytest.mark.slow
def test_yaml_of_cuts_and_proposals_holds_nothing_but_their_objects(dump: Dump, tmp_path: Path) -> None:
    """No name ends the comment in which the command stands."""
    for made in (
        cut(dump.snapshot(), goal="all secrets", direct=True),
        least_privilege(dump.snapshot(), write_hostile_files(tmp_path)["LOG"]),
    ):
        assert [one for one in yaml.safe_load_all(made.yaml()) if one] == made.manifests()


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("x;touch y", "kubectl delete roles 'x;touch y' --namespace a"),
        ("--all", "kubectl delete roles --namespace a -- --all"),
        ("a\nb'", "kubectl delete roles $'a\\nb\\'' --namespace a"),
    ],
)
def test_a_name_is_one_word(name: str, command: str) -> None:
    """A name is never a flag, a second command or a second line."""
    assert kubectl_command("delete", "roles", name, "a") == command


@pytest.mark.slow
def test_notebooks_show_names_as_names(dump: Dump) -> None:
    """HTML of results has no element and no attribute that a name brought along."""
    snapshot = dump.snapshot()
    found = escalations(snapshot, direct=True)
    shown = [can(snapshot, who, "get", "secrets") for who in SUBJECTS]
    pages = [one._repr_html_() for one in shown]
    pages += [
        found._repr_html_(),
        cut(snapshot, goal="all secrets", direct=True)._repr_html_(),
        audit(snapshot)._repr_html_(),
    ]
    pages += [one._repr_html_() for one in list(found)[:50]]
    pages.append(simkit.Cluster.of(dump)._repr_html_())
    page = Elements("".join(pages))
    assert not {"script", "img", "a", "x"} & set(page.names)
    assert page.attributes <= {"style", "class", "border", "open"}
    assert_visible("".join(pages))


def test_html_is_escaped_in_one_place() -> None:
    """No module of simkit escapes HTML in another way, which would leave letters that turn or hide others."""
    source = Path(simkit.__file__).parent
    others = {
        str(path.relative_to(source)) for path in source.rglob("*.py") if _ESCAPES.search(path.read_text("utf-8"))
    }
    assert others == {"meta/visible_text.py"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Glyph")
def test_figures_show_names_as_names(dump: Dump, tmp_path: Path) -> None:
    """A dollar sign in a name begins no formula, which may fail."""
    snapshot = dump.snapshot()
    figures = [
        access_drift(
            compare(load("{apiVersion: v1, kind: List, items: []}", captured=["*"]).snapshot(), snapshot), top=60
        ),
        subjects_by_role(access_graph(snapshot)),
        blast_radius(snapshot, SUBJECTS[0]).plot(),
    ]
    for at, axes in enumerate(figures):
        figure = axes.get_figure(root=True)
        assert figure is not None
        figure.savefig(tmp_path / f"{at}.png")
