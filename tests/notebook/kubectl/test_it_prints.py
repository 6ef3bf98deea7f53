"""The kubectl of notebooks prints what kubectl 1.32 prints, byte for byte."""

from __future__ import annotations

import pytest

from simkit.notebook.kubectl.command import kubectl
from tests.notebook.kubectl.recordings import cluster, commands, comparable, recorded


def test_all_commands_are_recorded() -> None:
    """``python -m tests.notebook.kubectl.recordings`` was run, with a kubectl."""
    assert [each[:3] for each in commands()] == [each[:3] for each in recorded()]


@pytest.mark.parametrize("section", sorted({each.section for each in commands()}))
def test_it_prints_what_kubectl_prints(section: int) -> None:
    """Text and exit code of each command, but for ages, addresses and names that the server makes up."""
    own = cluster()
    for each in (each for each in recorded() if each.section == section):
        printed = kubectl(own, each.line, each.stdin)
        assert (comparable(printed.text), printed.code) == (each.text, each.code), each.line
