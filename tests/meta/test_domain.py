"""The names under the domains of Kubernetes stand in one module."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from simkit.meta import domain

pytestmark = pytest.mark.slow

PACKAGE = Path(domain.__file__).parents[1]
NAMES = (
    domain.API_DOMAIN,
    domain.LABEL_DOMAIN,
    domain.SYSTEM_NAMESPACE,
    domain.PUBLIC_NAMESPACE,
    domain.PROTOBUF_MEDIA_TYPE,
)
SENTENCES = ("examples:\n", "workloads in ", "https://", "k8s.io/api, ")
"""The beginnings of help, addresses and sources, which are for people."""


def texts(path: Path) -> list[tuple[int, str]]:
    """The texts of a module with their lines, without its docstrings."""
    tree = ast.parse(path.read_text())
    told = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    constants = [each for each in ast.walk(tree) if isinstance(each, ast.Constant) and id(each) not in told]
    return [(each.lineno, each.value) for each in constants if isinstance(each.value, str)]


def test_domains_and_namespaces_are_named_in_one_module() -> None:
    """Code asks ``simkit.meta.domain`` for groups, labels and system namespaces; only sentences write them out."""
    found = [
        f"{path.relative_to(PACKAGE)}:{number}: {text[:60]!r}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path != Path(domain.__file__)
        for number, text in texts(path)
        if any(name in text for name in NAMES) and not text.startswith(SENTENCES)
    ]
    assert found == []
