"""Writes the questions of ``Cluster`` out of the free functions of ``simkit.analysis``.

Each method has the signature and the docstring of its function, without the arguments that the cluster itself is.
Run it after a change of one of these functions: ``python tools/write_analysis_methods.py``. A test compares both sides.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "simkit" / "cluster" / "analysis_methods"
INHERITED: Final = frozenset(("bool", "dict", "float", "int", "list", "str", "tuple", "None"))


class Question(NamedTuple):
    """A free function, and what the cluster gives for some of its arguments."""

    module: str
    name: str
    given: Mapping[str, str] = {"snapshot": "self.snapshot()"}
    named: tuple[str, ...] = ()
    """Positional arguments of the function that the method takes by name only, since their order would be guessed."""


PROVEN: Final = {"snapshot": "self.snapshot()", "sandbox": "self"}
LATER: Final = {"after": "self.snapshot()"}
PAGES: Final[Mapping[str, tuple[str, tuple[Question, ...]]]] = {
    "access": (
        "AnalysisMethods about who may do what.",
        (
            Question("access.who_can", "who_can"),
            Question("access.can", "can"),
            Question("access.permissions", "permissions"),
            Question("access.compare", "compare", LATER, ("before",)),
            Question("access.expectations", "check"),
        ),
    ),
    "matrices": (
        "Access as tables of yes and no.",
        (
            Question("access.matrix", "access_matrix"),
            Question("access.matrix", "resource_matrix"),
            Question("access.matrix", "subject_matrix"),
        ),
    ),
    "tables": (
        "The objects of access control as tables and as a graph.",
        (
            Question("rbac.tables", "subjects"),
            Question("rbac.tables", "bindings"),
            Question("rbac.tables", "roles"),
            Question("rbac.tables", "rules"),
            Question("rbac.graph", "access_graph"),
            Question("membership.cluster", "members_of_snapshot"),
        ),
    ),
    "findings": (
        "Questions of an audit: findings, exposure and reach.",
        (
            Question("findings.audit", "audit"),
            Question("findings.audit", "findings"),
            Question("causes.group", "causes"),
            Question("findings.exposure", "exposure"),
            Question("findings.exposure", "reach"),
        ),
    ),
    "escalation": (
        "AnalysisMethods about privilege escalation.",
        (
            Question("escalation.find.queries", "escalations", PROVEN),
            Question("escalation.find.queries", "next_steps", PROVEN),
            Question("escalation.find.queries", "outsiders"),
            Question("escalation.find.blast_radius", "blast_radius"),
            Question("escalation.find.path_comparison", "compare_paths", LATER, ("before",)),
            Question("escalation.prove.risky_permissions", "risky_permissions", PROVEN),
        ),
    ),
    "changes": (
        "Changes that close escalation paths.",
        (
            Question("escalation.cut.minimum_cut", "cut", PROVEN),
            Question("plan.choice", "plan", PROVEN),
        ),
    ),
    "usage": (
        "Questions about access in use, and unused access.",
        (
            Question("least_privilege.usage", "usage"),
            Question("least_privilege.unused", "unused_grants"),
            Question("least_privilege.refused_requests", "refused_requests", LATER, ("before",)),
            Question("least_privilege.proposal", "least_privilege", PROVEN),
            Question("upgrade.removal_report", "removal_report", {"cluster": "self"}),
            Question("upgrade.upgrade_report", "upgrade_report", PROVEN),
            Question("upgrade.timeline", "timeline"),
        ),
    ),
    "operations": (
        "Rehearsals of operations, on forks with simulated nodes.",
        (
            Question("operations.nodes", "drain_nodes", {"sandbox": "self"}),
            Question("operations.nodes", "lose_nodes", {"sandbox": "self"}),
            Question("operations.workloads", "roll_out", {"sandbox": "self"}),
            Question("operations.workloads", "put_under_load", {"sandbox": "self"}),
        ),
    ),
    "policies": (
        "AnalysisMethods about admission policies and webhooks.",
        (
            Question("admission.policies", "policy_effect", PROVEN),
            Question("admission.policies", "policy_coverage"),
            Question("admission.webhooks", "webhook_coverage"),
            Question("admission.expression_costs", "expression_costs"),
        ),
    ),
}


def docstring_of_method(text: str, given: Mapping[str, str]) -> str:
    """The docstring of a function without the parameters that are given.

    Examples
    --------
    >>> docstring_of_method("Says.\\n\\nParameters\\n----------\\na, b\\n    Both.\\nc\\n    One.", {"a": "", "c": ""})
    'Says.\\n\\nParameters\\n----------\\nb\\n    Both.'
    """
    head, heading, rest = text.partition("Parameters\n----------\n")
    if not heading:
        return text
    parameters, gap, tail = rest.partition("\n\n")
    kept = []
    for entry in re.split(r"\n(?=\S)", parameters):
        names, _, told = entry.partition("\n")
        left = [name for name in names.split(", ") if name not in given]
        kept += [f"{', '.join(left)}\n{told}"] if left else []
    return f"{head}{heading}{chr(10).join(kept)}{gap}{tail}" if kept else f"{head}{tail}".rstrip()


def method_of(question: Question) -> tuple[str, set[str]]:
    """The text of the method that asks a question, and the names that its annotations use."""
    function = _function(question)
    text = docstring_of_method(ast.get_docstring(function) or "", question.given)
    arguments = _by_name(_without(function.args, question.given), question.named)
    returns = ast.unparse(function.returns) if function.returns else "None"
    signature = f"def {function.name}(self, {ast.unparse(arguments)}) -> {returns}:".replace("self, )", "self)")
    lines = [
        signature,
        textwrap.indent(f'"""{text}\n"""', "    "),
        f"    from simkit.analysis.{question.module} import {question.name}",
        "",
        f"    return {question.name}({', '.join(_passed(function.args, question.given))})",
    ]
    nodes = (node for part in (arguments, function.returns) if part for node in ast.walk(part))
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    return "\n".join(lines), used - INHERITED


def _module(question: Question) -> ast.Module:
    path = ROOT / "simkit" / "analysis" / f"{question.module.replace('.', '/')}.py"
    return ast.parse(path.read_text(encoding="utf-8"))


def _function(question: Question) -> ast.FunctionDef:
    return next(
        node for node in _module(question).body if isinstance(node, ast.FunctionDef) and node.name == question.name
    )


def _without(arguments: ast.arguments, given: Mapping[str, str]) -> ast.arguments:
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


def _by_name(arguments: ast.arguments, names: tuple[str, ...]) -> ast.arguments:
    """The arguments, with some of the positional ones by name only."""
    moved = [one for one in arguments.args if one.arg in names]
    arguments.args = [one for one in arguments.args if one.arg not in names]
    arguments.kwonlyargs = [*moved, *arguments.kwonlyargs]
    arguments.kw_defaults = [*([None] * len(moved)), *arguments.kw_defaults]
    return arguments


def _passed(arguments: ast.arguments, given: Mapping[str, str]) -> Iterator[str]:
    yield from (given.get(one.arg, one.arg) for one in arguments.args)
    if arguments.vararg:
        yield f"*{arguments.vararg.arg}"
    yield from (f"{one.arg}={given.get(one.arg, one.arg)}" for one in arguments.kwonlyargs)


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


def page_of(name: str) -> str:
    """The source of a file of questions."""
    heading, questions = PAGES[name]
    imports: set[str] = set()
    methods = []
    for question in questions:
        text, used = method_of(question)
        methods.append(textwrap.indent(text, "    "))
        imports |= set(imports_of(question, used))
    return "\n".join(
        [
            f'"""{heading} Written by tools/write_analysis_methods.py out of simkit.analysis."""',
            "\nfrom __future__ import annotations\n",
            "from typing import TYPE_CHECKING\n",
            "from simkit.cluster.analysis_methods.analysed_cluster import AnalysedCluster\n",
            "if TYPE_CHECKING:",
            *(f"    {line}" for line in sorted(imports)),
            f"\n\nclass {name.capitalize()}Methods(AnalysedCluster):",
            f'    """{heading}"""\n',
            "\n\n".join(methods),
            "",
        ]
    )


def main() -> None:
    """Write all files."""
    for name in PAGES:
        (FOLDER / f"{name}.py").write_text(page_of(name), encoding="utf-8")
    for command in (("check", "-q", "--select", "I", "--fix"), ("format", "-q")):
        subprocess.run([sys.executable, "-m", "ruff", *command, str(FOLDER)], check=True)


if __name__ == "__main__":
    main()
