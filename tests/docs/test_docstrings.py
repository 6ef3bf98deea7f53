"""Docstrings of public functions name their parameters, results and errors."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest

import simkit
import simkit.analysis
from simkit.cluster.cluster import Cluster

SHARED = {"snapshot", "self", "cls"}
"""Parameters that docstrings leave out: functions of a snapshot share theirs with the methods of a cluster."""


PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (simkit.analysis, simkit)
    for name in module.__all__
    if inspect.isfunction(getattr(module, name))
}


METHODS = {
    name: inspect.unwrap(getattr(Cluster, name))
    for name in dir(Cluster)
    if not name.startswith("_") and inspect.isroutine(getattr(Cluster, name))
}


def check_sections(function: Any) -> None:
    """Assert that a docstring has a section for the parameters, the result and the errors of its function."""
    text, signature = inspect.getdoc(function) or "", inspect.signature(function)
    described = text.partition("Parameters\n---")[2].partition("\n\nReturns\n")[0]
    for parameter in set(signature.parameters) - SHARED:
        assert re.search(rf"(?m)^[\w, *]*\b{parameter}\b[\w, ]*( :.*)?$", described), parameter
    if signature.return_annotation not in ("None", None):
        assert re.search(r"(?m)^(Returns|Yields)\n---", text)
    if raises(function):
        assert re.search(r"(?m)^Raises\n---", text)


def raises(function: Any) -> bool:
    """True if the body of a function raises an error itself."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))
    return any(isinstance(node, ast.Raise) and node.exc is not None for node in statements(tree.body[0]))


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions within it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from statements(child)


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_public_functions_name_their_parameters_result_and_errors(name: str) -> None:
    """In sections of numpy's style; the snapshot is left out, and so is a result of None."""
    check_sections(PUBLIC[name])


@pytest.mark.parametrize("name", sorted(METHODS))
def test_methods_of_a_cluster_name_their_parameters_result_and_errors(name: str) -> None:
    """In sections of numpy's style."""
    check_sections(METHODS[name])


@pytest.mark.parametrize("name", [name for name in dir(Cluster) if not name.startswith("_")])
def test_members_of_a_cluster_have_docstrings(name: str) -> None:
    """Every public method and property says what it gives back or does."""
    assert inspect.getdoc(getattr(Cluster, name))


def test_a_docstring_without_its_errors_is_found() -> None:
    """A function that raises needs the section; one that only calls what raises does not."""

    def silent() -> None:
        """Do nothing but fail."""
        raise ValueError

    with pytest.raises(AssertionError):
        check_sections(silent)
