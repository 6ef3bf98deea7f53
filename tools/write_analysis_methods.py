"""Writes the stub of the questions of ``Cluster`` out of the free functions of ``simkit.analysis``.

Each method has the signature of its function, without the arguments that the cluster itself is. Run it after a change
of one of these functions: ``python tools/write_analysis_methods.py``. A test compares both sides.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from simkit.cluster.analysis_methods import AnalysisMethods
from simkit.cluster.question import Question

ROOT: Final = Path(__file__).resolve().parents[1]
STUB: Final = ROOT / "simkit" / "cluster" / "analysis_methods.pyi"
INHERITED: Final = frozenset(("bool", "dict", "float", "int", "list", "str", "tuple", "None"))


def questions() -> list[Question]:
    """The questions in the order in which they are declared."""
    return [each for each in vars(AnalysisMethods).values() if isinstance(each, Question)]


def method_of(question: Question) -> tuple[str, set[str]]:
    """The line of the method that asks a question, and the names that its annotations use."""
    function = _function(question)
    arguments = _optional_before(_without(function.args, question.given), compares=question.compares)
    returns = ast.unparse(function.returns) if function.returns else "None"
    line = f"def {function.name}(self, {ast.unparse(arguments)}) -> {returns}: ...".replace("self, )", "self)")
    nodes = (node for part in (arguments, function.returns) if part for node in ast.walk(part))
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    return line, used - INHERITED


def _module(question: Question) -> ast.Module:
    path = ROOT / "simkit" / "analysis" / f"{question.module.replace('.', '/')}.py"
    return ast.parse(path.read_text(encoding="utf-8"))


def _function(question: Question) -> ast.FunctionDef:
    return next(
        node for node in _module(question).body if isinstance(node, ast.FunctionDef) and node.name == question.name
    )


def _without(arguments: ast.arguments, given: Collection[str]) -> ast.arguments:
    """The arguments that are left to who asks. The optional ones among the given must be keyword-only."""
    offset = len(arguments.args) - len(arguments.defaults)
    kept = [number for number, one in enumerate(arguments.args) if one.arg not in given]
    named = [number for number, one in enumerate(arguments.kwonlyargs) if one.arg not in given]
    return ast.arguments(
        posonlyargs=[],
        args=[arguments.args[number] for number in kept],
        vararg=arguments.vararg,
        kwonlyargs=[arguments.kwonlyargs[number] for number in named],
        kw_defaults=[arguments.kw_defaults[number] for number in named],
        defaults=[arguments.defaults[number - offset] for number in kept if number >= offset],
    )


def _optional_before(arguments: ast.arguments, *, compares: bool) -> ast.arguments:
    """The arguments of a comparison, with ``before`` by name and optional, since a trial knows it."""
    if compares:
        [before] = [one for one in arguments.args if one.arg == "before"]
        arguments.args.remove(before)
        before.annotation = (
            ast.parse(f"{ast.unparse(before.annotation)} | None", mode="eval").body if before.annotation else None
        )
        arguments.kwonlyargs = [before, *arguments.kwonlyargs]
        arguments.kw_defaults = [ast.Constant(None), *arguments.kw_defaults]
    return arguments


def imports_of(question: Question, used: set[str]) -> Iterator[str]:
    """The imports that the annotations of a question need."""
    module = _module(question)
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom | ast.Import):
            for one in node.names:
                if (one.asname or one.name) in used:
                    alias = f" as {one.asname}" if one.asname else ""
                    start = f"from {node.module} " if isinstance(node, ast.ImportFrom) else ""
                    yield f"{start}import {one.name}{alias}"
    for node in module.body:
        targets = [node] if isinstance(node, ast.ClassDef) else getattr(node, "targets", [])
        for target in targets:
            name = getattr(target, "name", getattr(target, "id", ""))
            if name in used:
                yield f"from simkit.analysis.{question.module} import {name}"


def stub() -> str:
    """The source of the stub."""
    imports, lines = set[str](), list[str]()
    for question in questions():
        line, used = method_of(question)
        lines.append(f"    {line}")
        imports |= set(imports_of(question, used))
    return "\n".join(
        [
            "# Written by tools/write_analysis_methods.py out of simkit.analysis.",
            "from abc import ABCMeta",
            *sorted(imports),
            "from simkit.cluster.question import AnalysedCluster",
            "class AnalysisMethods(AnalysedCluster, metaclass=ABCMeta):",
            *lines,
            "",
        ]
    )


def main() -> None:
    """Write the stub."""
    STUB.write_text(stub(), encoding="utf-8")
    for command in (("check", "-q", "--select", "I", "--fix"), ("format", "-q")):
        subprocess.run([sys.executable, "-m", "ruff", *command, str(STUB)], check=True)


if __name__ == "__main__":
    main()
