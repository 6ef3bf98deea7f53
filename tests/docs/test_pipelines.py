"""The hooks for pre-commit and the action run commands that exist."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from simkit.cli import COMMANDS

ROOT = Path(__file__).parents[2]


def test_hooks_run_commands_that_exist() -> None:
    """Each hook is one of the commands, under its own name."""
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    known = {command.name for command in COMMANDS}
    assert {each["entry"].split()[1] for each in hooks} <= known
    assert len({each["id"] for each in hooks}) == len(hooks)


def test_hooks_see_all_manifests_together() -> None:
    """None takes names of files: pre-commit hands out those that changed, and splits them among processes.

    A binding would be judged without its role.
    """
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert [each["id"] for each in hooks if each.get("pass_filenames", True)] == []


def test_the_action_runs_simkit() -> None:
    """It installs what it is told, and runs one command."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    assert "simkit" in action["runs"]["steps"][-1]["run"]


@pytest.mark.parametrize(("code", "known", "method"), [(0, "", "POST"), (2, "7", "PATCH"), (1, "7", "PATCH")])
def test_the_comment_of_a_pull_request(tmp_path: Path, code: int, known: str, method: str) -> None:
    """The action writes one comment, replaces it in later runs, and fails only if an object is refused."""
    (step,) = (
        one
        for one in yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
        if "GH_TOKEN" in one.get("env", {})
    )
    programs = {
        "simkit": f'printf "%s\\n" "$@" > words; echo "<!-- simkit plan -->"; exit {code}\n',
        "gh": f'echo "$@" >> calls; case "$*" in *--paginate*) echo "{known}" ;; esac\n',
    }
    for name, script in programs.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{script}")
        (tmp_path / name).chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "RUNNER_TEMP": str(tmp_path),
        "COMMENTS": "repos/a/b/issues/3/comments",
        "COMMAND": 'plan dump.yaml -f "my folder" -o markdown',
    }
    done = subprocess.run(["bash", "-e", "-c", step["run"]], cwd=tmp_path, env=environment, check=False)
    assert (done.returncode == 0) == (code != 1)
    assert (tmp_path / "words").read_text().split("\n")[:4] == ["plan", "dump.yaml", "-f", "my folder"]
    where = "repos/a/b/issues/comments/7" if known else "repos/a/b/issues/3/comments"
    assert f"--method {method} {where} --field body=@{tmp_path}/comment.md" in (tmp_path / "calls").read_text()
