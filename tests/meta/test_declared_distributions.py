"""Every distribution whose modules are imported is declared in ``pyproject.toml``."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_OWN = {"simkit", "tests", "tools"}
_CLIENTS = {"atheris", "kopf", "kr8s", "lightkube", "kubernetes", "kubernetes-asyncio", "playwright", "pykube"}
"""The fuzzer and clients: tests skip without them, and users of a client bring it along."""


def _normal(name: str) -> str:
    return re.split(r"[<>=;\[ ]", name)[0].lower().replace("_", "-")


def _declared(*extras: str) -> set[str]:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"]
    return {_normal(each) for each in project["dependencies"]} | {
        _normal(each) for extra in extras or optional for each in optional[extra]
    }


def _imported(folder: str) -> Iterator[tuple[str, Path]]:
    for path in (_ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            yield from ((name.split(".")[0], path) for name in names)


@pytest.mark.parametrize("folder", sorted(_OWN))
def test_imported_distributions_are_declared(folder: str) -> None:
    """A clean installation has whatever is imported, so nothing rests on what another distribution brings along."""
    declared, known = _declared(), packages_distributions()
    foreign = {(name, path) for name, path in _imported(folder) if name not in sys.stdlib_module_names | _OWN}
    missing = {
        f"{name} ({path.relative_to(_ROOT)})"
        for name, path in foreign
        if not {_normal(each) for each in known.get(name, [])} & declared and _normal(name) not in _CLIENTS
    }
    assert not missing
