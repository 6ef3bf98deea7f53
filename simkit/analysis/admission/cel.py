"""Evaluation of one CEL expression: value, type, cost, error and steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.rbac.tables import table
from simkit.language.cel.containers import plain_key
from simkit.language.cel.conversions import type_of
from simkit.language.cel.decl_types import DeclType, schema_decl_type
from simkit.language.cel.environment import OWN_EXPRESSIONS, Environment, Program
from simkit.language.cel.errors import BudgetExceeded, CompileError, EvaluationError
from simkit.language.cel.explain import explain, failure_position
from simkit.language.cel.names import Variables
from simkit.language.cel.types import DYN, Type, parsed
from simkit.language.cel.values import kind_of
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupVersion, GroupVersionKind
from simkit.meta.objects import Object
from simkit.meta.visible_text import html_text
from simkit.meta.wrong_names import with_explained_calls
from simkit.schema.behaviour import default_behaviour
from simkit.schema.custom.structural import row_of
from simkit.schema.definitions import Definitions, definitions
from simkit.schema.releases import release_name
from simkit.schema.structural import Schema

if TYPE_CHECKING:
    import pandas as pd

STEP_COLUMNS: Final = ("expression", "value", "cost", "total")
COST_LIMIT: Final = 10_000_000
"""The cost limit of one rule of a custom resource, in the units of CEL."""
_WRITTEN: Final = frozenset({"timestamp", "duration"})
_KINDS_OF_TYPES: Final = frozenset(
    {"bool", "int", "uint", "double", "string", "bytes", "null", "dyn", "duration", "timestamp", "list", "map"}
)
TypeSource = Object | str


@dataclass(frozen=True, slots=True)
class CelResult:
    """The result of an expression.

    Attributes
    ----------
    expression
        Its source.
    value
        Its value; None where it failed.
    type
        The type of the value; before evaluation, what the checker found.
    cost
        What the evaluation cost in the language's units, up to the failure if there was one.
    least, most
        What it can cost for any value of the declared types.
    error
        Empty, or what is wrong, with the position under the expression.
    """

    expression: str
    value: Any = None
    type: str = ""
    cost: int = 0
    least: int = 0
    most: int = 0
    error: str = ""
    program: Program | None = None
    variables: Mapping[str, Any] | None = None

    def explain(self) -> pd.DataFrame:
        """The evaluation step by step.

        Returns
        -------
        DataFrame
            One row for each part each time it was evaluated, in the order in which they ended: expression; value (the
            EvaluationError in the last row of one that failed); cost (since the row before) and total, in the
            language's units. Empty for an expression that does not compile.
        """
        steps = [] if self.program is None else explain(self.program, self.variables or {})
        totals = [0, *(step.cost for step in steps)]
        rows = ((step.expression, step.value, step.cost - before, step.cost) for step, before in zip(steps, totals))
        return table(rows, STEP_COLUMNS)

    def __repr__(self) -> str:
        return self.error or f"{self._shown()}  ({self.type}, cost {self.cost})"

    def _shown(self) -> str:
        return str(self.value) if self.type in _WRITTEN else repr(self.value)

    def _repr_html_(self) -> str:
        if self.error:
            return f"<pre>{html_text(self.error)}</pre>"
        return f"<code>{html_text(self._shown())}</code> <small>{html_text(self.type)}, cost {self.cost}</small>"


@with_explained_calls
def cel(
    expression: str,
    *,
    types: Mapping[str, TypeSource] | None = None,
    release: str = OWN_EXPRESSIONS,
    budget: int = COST_LIMIT,
    **variables: object,
) -> CelResult:
    """Evaluate a CEL expression of Kubernetes on values.

    Parameters
    ----------
    expression
        The text of the expression.
    types
        DeclType types of variables, against which misspelt fields are found before anything is evaluated: an OpenAPI
        schema, a kind such as ``apps/v1/Deployment``, or the name of a type such as ``list(int)``. Variables without
        one may be anything, and are checked while they are evaluated.
    release
        Whose functions and kinds there are. 1.31 brings named formats, 1.32 comprehensions of two variables
        (``transformMap`` and others), 1.33 semantic versions, 1.34 more functions of lists.
    budget
        The cost, in the units of kube-apiserver, at which the evaluation ends with an error.
    variables
        Values by name, plain as in JSON.

    Returns
    -------
    CelResult
        Also for an expression that is wrong: its ``error`` shows where, in the words of kube-apiserver.

    Raises
    ------
    SimkitError
        For a declared type or a release that does not exist, and for a value that the language has no type for.

    Examples
    --------
    >>> cel("self.replicas <= self.max", self={"replicas": 3, "max": 5})
    True  (bool, cost 5)
    >>> cel("self.replica <= 3", self={"replicas": 3}, types={"self": "apps/v1/Deployment"})
    ERROR: <input>:1:5: undefined field 'replica'
     | self.replica <= 3
     | ....^
    """
    release = release_name(release)
    for name, value in variables.items():
        _check_value(value, name)
    declared: Variables = dict.fromkeys(variables, DYN) | {
        name: _declared(name, given, release) for name, given in (types or {}).items()
    }
    environment = Environment(default_behaviour(release), declared, version=release, homogeneous=False)
    try:
        program = environment.compile(expression)
    except CompileError as error:
        return CelResult(expression, error=str(error), variables=variables)
    least, most = program.estimate()
    read = CelResult(expression, None, str(program.type), 0, least, most, "", program, variables)
    try:
        value, cost = program.evaluate(variables, budget=budget)
    except EvaluationError as failure:
        shown = failure_position(program, variables, failure).rendered(expression)
        return replace(read, cost=failure.cost, error=shown)
    except BudgetExceeded as exceeded:
        return replace(read, cost=budget, error=f"ERROR: {exceeded}")
    shown = str(program.type) if program.type != DYN else type_of(value).name
    return replace(read, value=_plain(value), type=shown, cost=cost)


def _check_value(value: Any, where: str) -> None:
    """Raise SimkitError for a value that is neither JSON nor a CEL value, with its place."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            _check_value(item, f"{where}[{key!r}]")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _check_value(item, f"{where}[{index}]")
    elif kind_of(value) == "dyn":
        hint = "text and timestamp(), or duration()" if isinstance(value, date | timedelta) else "plain values"
        raise SimkitError(f"{where}: expressions have no values like {value!r} ({type(value).__name__}); give {hint}")


def _plain(value: Any) -> Any:
    """The value with the booleans among map keys as Python's."""
    if isinstance(value, dict):
        return {plain_key(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _declared(name: str, given: TypeSource, release: str) -> DeclType | Type:
    node = Schema(row_of(given), definitions(release).node) if isinstance(given, Mapping) else None
    if isinstance(given, str):
        if "/" not in given:
            return _named(given)
        node = _kind(given, definitions(release))
    found = None if node is None else schema_decl_type(node, name)
    if found is None:
        raise SimkitError(f"types: expressions cannot see a {name} of this schema: give every level a type")
    return found


def _named(text: str) -> Type:
    found = parsed(text)
    waiting = [found]
    while waiting:
        each = waiting.pop()
        waiting.extend(each.parameters)
        if each.kind not in _KINDS_OF_TYPES:
            known = ", ".join(sorted(_KINDS_OF_TYPES))
            raise SimkitError(f"types: there is no type {text!r}; made of {known}, it may be 'map(string, list(int))'")
    return found


def _kind(text: str, known: Definitions) -> Schema:
    version, _, kind = text.rpartition("/")
    found = known.name_of(GroupVersionKind(*GroupVersion.parse(version), kind))
    if found is None:
        raise SimkitError(f"types: release {known.release} has no kind {text!r}; write it as in 'apps/v1/Deployment'")
    return known.node(found)
