"""YAML from outside is read by one reader, which bounds depth, aliases and digits, wherever it comes from."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import simkit
from simkit.analysis.findings.suppress import read_suppressions
from simkit.cluster.nodes import read_config
from simkit.cluster.plugin_settings import read_settings
from simkit.engine.egress.files import load_kubeconfig
from simkit.engine.pipeline.audit.policy import load as load_policy
from simkit.logic.lifecycle.reading import read_history
from simkit.meta.errors import SimkitError

pytestmark = pytest.mark.slow

ROOT = Path(simkit.__file__).parent
OWN: dict[str, str] = {
    "language/yaml/decode.py": "the reader itself",
    "language/yaml/roundtrip.py": "texts that the reader has read before; comments and order are kept",
    "cluster/bootstrap.py": "our own dataset",
    "meta/datasets.py": "our own datasets",
}
"""Modules that read YAML themselves, and why they may."""

LOADING = frozenset({"load", "load_all", "safe_load", "safe_load_all", "full_load", "unsafe_load"})

_BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "\n".join(
    f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 10)}]" for number in range(1, 12)
)
HOSTILE = {
    "aliases": _BOMB,
    "depth": "a: " + "[" * 100_000,
    "closed depth": "a: " + "[" * 50_000 + "]" * 50_000,
    "depth of blocks": "- " * 20_000,
    "digits": "a: " + "9" * 10_000,
    "control characters": "a: \x01",
}


def test_nobody_else_reads_yaml_from_outside() -> None:
    """The library's own readers overrun the stack, expand aliases without end, and know types that JSON has not."""
    found = set()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if _is_of_yaml(node):
                found.add(str(path.relative_to(ROOT)))
    assert found <= OWN.keys()


def _is_of_yaml(node: ast.AST) -> bool:
    """True for a function of PyYAML that makes objects of a text."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return False
    return node.value.id == "yaml" and node.attr in LOADING


READERS: dict[str, Callable[[Path], Any]] = {
    "audit policy": load_policy,
    "client configuration": load_kubeconfig,
    "settings of plugins": read_settings,
    "simulated nodes": read_config,
    "suppressions": read_suppressions,
    "history of an API": read_history,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("text", HOSTILE)
def test_files_end_in_an_error_that_names_them(reader: str, text: str, tmp_path: Path) -> None:
    """Neither a traceback, nor a process that is gone, nor one that never ends."""
    file = tmp_path / "hostile.yaml"
    file.write_text(HOSTILE[text])
    with pytest.raises(SimkitError):
        READERS[reader](file)
