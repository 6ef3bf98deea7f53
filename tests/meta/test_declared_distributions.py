"""Every distribution whose modules are imported is declared in ``pyproject.toml``."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from simkit.meta.distribution import DISTRIBUTION, VERSION

pytestmark = pytest.mark.slow

_ROOT = Path(__file__).parents[2]
_OWN = {"simkit", "tests", "tools"}
_CLIENTS = {"atheris", "kopf", "kr8s", "lightkube", "kubernetes", "kubernetes-asyncio", "playwright", "pykube"}
"""The fuzzer and clients: tests skip without them, and users of a client bring it along."""


def _normal(name: str) -> str:
    return re.split(r"[<>=;\[ ]", name)[0].lower().replace("_", "-")


def _declared(*extras: str) -> set[str]:
    document = tomllib.loads((_ROOT / "pyproject.toml").read_text())
    optional = document["project"]["optional-dependencies"] | document["dependency-groups"]
    return {_normal(each) for each in document["project"]["dependencies"]} | {
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


_STRANGER = re.compile(r"(?:pip3?|pipx|uvx|uv)\b[^\n]{0,40}?[ '\"]simkit(?:\[|==|>=|['\" \n]|$)")
"""Commands that install the package of the index that is called like ours, and is another project."""
_RUNS = re.compile(r"(?:kube-simkit\S* simkit|from \S+ simkit)")


def test_nobody_is_told_to_install_the_package_of_somebody_else() -> None:
    """The distribution is ``kube-simkit``; ``simkit`` of the index has nothing to do with it."""
    named = subprocess.run(["git", "ls-files"], cwd=_ROOT, capture_output=True, text=True, check=True).stdout.split()
    found = []
    for name in named:
        path = _ROOT / name
        if path == Path(__file__) or path.suffix in (".gz", ".png", ".lock", ".json") or not path.is_file():
            continue
        lines = enumerate(path.read_text("utf-8", "replace").splitlines(), 1)
        found += [f"{name}:{number}" for number, line in lines if _STRANGER.search(_RUNS.sub("", line))]
    assert found == []


def test_the_name_and_the_version_are_those_of_the_distribution() -> None:
    """Hints and pages name the distribution that is built."""
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    assert (project["name"], project["version"]) == (DISTRIBUTION, VERSION)
