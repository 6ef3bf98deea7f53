"""Environments for compiling expressions, and the compiled programs.

k8s.io/apiserver/pkg/cel/environment, release 1.30: which functions a compatibility version has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.language.cel import validators
from simkit.language.cel.check import Checker
from simkit.language.cel.cost_estimate import Estimator
from simkit.language.cel.decl_types import DeclType
from simkit.language.cel.declarations import Function, Library
from simkit.language.cel.errors import (
    CALL_LIMIT,
    BudgetExceeded,
    CompileError,
    EvaluationError,
    InstantiationError,
    Issue,
    ResultTypeError,
)
from simkit.language.cel.generate import Generator
from simkit.language.cel.grammar import parse
from simkit.language.cel.lib_policies import patch_type
from simkit.language.cel.libraries import functions, type_names
from simkit.language.cel.names import Variables
from simkit.language.cel.runtime import FAILURES
from simkit.language.cel.tree import Node
from simkit.language.cel.types import Type, object_of, parsed
from simkit.meta.behaviour import ServedBehaviour

NEW_EXPRESSIONS: Final = "1.29"
"""The compatibility version in which release 1.30 compiles new expressions."""
OWN_EXPRESSIONS: Final = "1.30"
"""The compatibility version with everything that release 1.30 itself has."""
STORED_EXPRESSIONS: Final = "1.34"
"""The compatibility version in which it compiles stored expressions, from any server: every library."""
_KNOWN: Final = 34
"""The last release that brought libraries which are known here."""
_PATIENCE: Final = 64
_STEP: Final = 8
"""The number of evaluations for which an expression that fails often takes the careful variant."""
_UNLIMITED: Final = float("inf")

Evaluate = Callable[[Mapping[str, Any], float, list[Any]], tuple[Any, int]]


class Result(NamedTuple):
    """A value and its cost; the cost is 0 if no budget was set."""

    value: Any
    cost: int


class Program:
    """A compiled expression. Programs are immutable and may be evaluated from several threads.

    Attributes
    ----------
    source
        The expression.
    type
        The type of its value.
    """

    def __init__(
        self,
        source: str,
        node: Node,
        variables: Variables,
        known: Mapping[str, Function],
        strict: bool,
        *,
        patches: bool = False,
    ) -> None:
        self.source, self.type = source, node.type
        self._node, self._variables, self._functions, self._strict = node, variables, known, strict
        self._patches = patches
        self._made: dict[tuple[bool, bool], Evaluate] = {}
        self._failures = 0

    @property
    def node(self) -> Node:
        """The syntax tree, which must not be changed."""
        return self._node

    def evaluate(self, bindings: Mapping[str, Any], *, budget: int | None = None) -> Result:
        """The value for some bindings, each plain JSON or a value of the language.

        Parameters
        ----------
        budget
            The cost that must not be exceeded. Without one, no cost is counted.

        Raises
        ------
        EvaluationError
            With cel-go's text; ``cost`` is what was spent until then.
        BudgetExceeded
        """
        if self._failures < _PATIENCE:
            counting = budget is not None
            run = self._made.get((True, counting)) or self._make(True, counting)
            try:
                value, cost = run(bindings, _UNLIMITED if budget is None else budget, [])
            except FAILURES:
                self._failures += _STEP
            else:
                self._failures -= self._failures > 0
                return Result(value, cost)
        else:
            self._failures -= 1
        run = self._made.get((False, True)) or self._make(False, True)
        value, cost = run(bindings, _UNLIMITED if budget is None else budget, [])
        return Result(value, 0 if budget is None else cost)

    def _make(self, fast: bool, counting: bool) -> Evaluate:
        generator = Generator(
            self._variables,
            self._functions,
            fast=fast,
            counting=counting,
            strict=self._strict,
            marked=self._patches,
        )
        made = compiled(generator, self._node)
        self._made[fast, counting] = made
        return made

    def estimate(self, root: DeclType | None = None) -> tuple[int, int]:
        """The least and the greatest cost for values that a schema admits.

        Parameters
        ----------
        root
            The declaration whose limits bound the sizes; the one of the variable ``self`` unless given.
        """
        declared = self._variables.get("self") if root is None else root
        return Estimator(declared if isinstance(declared, DeclType) else None).cost(self._node)

    def generator(self, *, tracing: bool = False) -> tuple[Generator, Node]:
        """A writer of the careful variant, and the tree for it, for tools that inspect programs."""
        return (
            Generator(
                self._variables, self._functions, fast=False, counting=True, strict=self._strict, tracing=tracing
            ),
            self._node,
        )

    def uses(self, variable: str) -> bool:
        """True if the expression mentions a variable."""
        return _mentions(self._node, variable)


def _mentions(node: Node, variable: str) -> bool:
    if node.reference == variable:
        return True
    return any(_mentions(child, variable) for child in node.children())


EXPRESSION: Final = "<expression>"
"""The file of generated functions in tracebacks."""


def compiled(generator: Generator, node: Node) -> Evaluate:
    """The Python function of one variant."""
    text = generator.source(node)
    space = generator.globals
    exec(compile(text, EXPRESSION, "exec"), space)  # noqa: S102 - the text holds nothing but what the generator wrote
    found: Evaluate = space["evaluate"]
    return found


class Environment:
    """The variables and functions of expressions.

    Parameters
    ----------
    behaviour
        That of the server that compiles them.
    variables
        Types by name: a ``Type``, or a ``DeclType`` made from a schema.
    version
        The compatibility version: which libraries exist and which checks are made.
    strict
        Whether library functions are charged at run time, as for rules of custom resources. Without it each call
        costs 1, as in admission policies of release 1.30.
    container
        A prefix under which names are looked up first.
    homogeneous
        Whether list and map literals must not mix types: a rule of kube-apiserver, not of the language.
    patches
        Whether objects and patches can be made, as in mutating policies: ``Object{...}``, ``JSONPatch{...}``.
    bindings
        Whether ``cel.bind`` names values, as in expressions that select devices.
    libraries
        Libraries besides those of kube-apiserver.

    Examples
    --------
    >>> from simkit.language.cel.types import BOOL, STRING
    >>> environment = Environment(ServedBehaviour(30), {"name": STRING})
    >>> environment.compile("name.startsWith('kube-')", expected=BOOL).evaluate({"name": "kube-dns"}).value
    True
    """

    def __init__(
        self,
        behaviour: ServedBehaviour,
        variables: Variables | None = None,
        *,
        version: str = NEW_EXPRESSIONS,
        strict: bool = True,
        container: str = "",
        homogeneous: bool = True,
        patches: bool = False,
        bindings: bool = False,
        libraries: tuple[Library, ...] = (),
    ) -> None:
        self.behaviour = behaviour
        major, _, minor = version.partition(".")
        self.version = (int(major), int(minor))
        self.variables: Variables = dict(variables or {})
        self.strict, self.container, self.homogeneous, self.patches = strict, container, homogeneous, patches
        self.bindings, self.libraries = bindings, libraries
        self._functions = functions(behaviour, self.version, patches=patches, others=libraries)

    def with_variables(self, variables: Variables) -> Environment:
        """The environment with more variables."""
        version = f"{self.version[0]}.{self.version[1]}"
        merged = {**self.variables, **variables}
        return Environment(
            self.behaviour,
            merged,
            version=version,
            strict=self.strict,
            container=self.container,
            homogeneous=self.homogeneous,
            patches=self.patches,
            bindings=self.bindings,
            libraries=self.libraries,
        )

    def compile(self, source: str, *, expected: Type | Sequence[Type] | None = None, check: bool = True) -> Program:
        """A program for an expression.

        Parameters
        ----------
        expected
            The type, or types, of which the value must be; any without it.
        check
            False leaves type errors to the evaluation.

        Raises
        ------
        CompileError
            ``str()`` is cel-go's text; ``stage`` says what kind of error it is.
        """
        quoted = self.behaviour.applies("quoted-names-in-grammar")
        node = parse(source, self.version, bindings=self.bindings, quoted=quoted)
        checker = Checker(
            self._functions,
            self.variables,
            container=self.container,
            lenient=not check,
            types=type_names(self.version),
            messages=patch_type if self.patches else None,
            keywords=self.version >= (1, 31),
        )
        found = checker.run(node)
        if checker.issues:
            raise CompileError(source, [Issue(each.position, self._named(each.text)) for each in checker.issues])
        if check:
            self._validate(source, node)
            self._expect(source, found, expected)
        return Program(source, node, self.variables, self._functions, self.strict, patches=self.patches)

    def _validate(self, source: str, node: Node) -> None:
        issues = list(validators.validated(node, literals=self.version >= (1, 29), homogeneous=self.homogeneous))
        if issues:
            raise CompileError(source, issues)
        text = validators.instantiation_error(node)
        if text is not None:
            raise InstantiationError(source, text)

    def _expect(self, source: str, found: Type, expected: Type | Sequence[Type] | None) -> None:
        if expected is None:
            return
        wanted = (expected,) if isinstance(expected, Type) else tuple(expected)
        if found not in wanted:
            raise ResultTypeError(source, " or ".join(map(str, wanted)), self._named(str(found)))

    def _named(self, text: str) -> str:
        """A text about types in the words of the release, as to optional values."""
        renamed = self.behaviour.applies("optional-type-named")
        return text if renamed else text.replace("optional_type(", "optional(")


def written_version(behaviour: ServedBehaviour) -> str:
    """The compatibility version in which a server reads expressions that are being written."""
    return f"1.{behaviour.minor - 1}"


def own_version(behaviour: ServedBehaviour) -> str:
    """The one with all that its release has itself."""
    return f"1.{behaviour.minor}"


def stored_version(behaviour: ServedBehaviour) -> str:
    """The one in which it reads those that are stored already, by whichever server: all libraries that there are."""
    return f"1.{max(behaviour.minor, _KNOWN)}"


def type_named(name: str) -> Type:
    """The type that a name such as ``map(string, int)`` or ``Authorizer`` stands for."""
    return parsed(name)


__all__ = [
    "CALL_LIMIT",
    "NEW_EXPRESSIONS",
    "OWN_EXPRESSIONS",
    "STORED_EXPRESSIONS",
    "BudgetExceeded",
    "CompileError",
    "Environment",
    "EvaluationError",
    "InstantiationError",
    "Program",
    "Result",
    "ResultTypeError",
    "object_of",
    "own_version",
    "stored_version",
    "type_named",
    "written_version",
]
