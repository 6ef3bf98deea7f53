"""The hooks for pre-commit and the action run commands that exist."""

from __future__ import annotations

from pathlib import Path

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
