"""The errors of compiling and of evaluating an expression, and the limits of both.

Texts and positions are those of cel-go 0.17, common/error.go and common/types/err.go; limits:
k8s.io/apiserver/pkg/apis/cel/config.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_WIDE_DOT = "．"
_WIDE_CARET = "＾"


NOWHERE: Final = -1
"""The position of an error that is about the expression as a whole."""


class EvaluationError(Exception):
    """An error value of the language, such as ``no such key: x``. ``&&`` and ``||`` may absorb it."""

    cost = 0
    """The cost until the evaluation failed, if a budget was set."""


class BudgetExceeded(Exception):
    """The evaluation exceeded its budget. No operator absorbs this error."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


def no_overload(signature: str = "") -> EvaluationError:
    """The error of an operation that does not exist for these values; for a function, with their types."""
    return EvaluationError(f"no such overload: {signature}" if signature else "no such overload")


def no_key(key: object) -> EvaluationError:
    """The error of a missing key or field."""
    return EvaluationError(f"no such key: {shown(key)}")


def shown(value: object) -> str:
    """A value as cel-go's errors write it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


@dataclass(frozen=True, slots=True)
class Issue:
    """One compile error: its offset (or NOWHERE) and its text."""

    position: int
    text: str

    def rendered(self, source: str) -> str:
        """The error as cel-go prints it: place, text, the source line, a caret under the column."""
        if self.position == NOWHERE:
            return f"ERROR: <input>:-1:0: {self.text}"
        if not source:
            return f"ERROR: <input>:1:0: {self.text}"
        line_start = source.rfind("\n", 0, self.position) + 1
        line = source.count("\n", 0, self.position) + 1
        line_end = source.find("\n", line_start)
        snippet = source[line_start : line_end if line_end >= 0 else len(source)].replace("\t", " ")
        column = self.position - line_start
        dots = "".join("." if ord(letter) < 128 else _WIDE_DOT for letter in snippet[:column])
        caret = _WIDE_CARET if column < len(snippet) and ord(snippet[column]) >= 128 else "^"
        return f"ERROR: <input>:{line}:{column + 1}: {self.text}\n | {snippet}\n | {dots}{caret}"


_REPORTED: Final = 100
"""Errors that cel-go reports, the first that it meets (common/errors.go, release 1.30)."""


class CompileError(Exception):
    """An expression that does not parse or does not type check; ``str()`` is the text of cel-go.

    Attributes
    ----------
    issues
        The single errors in the order of their places.
    stage
        ``compilation``; ``result`` where the expression has the wrong type; ``instantiation`` where it checks but a
        constant in it cannot be converted or is no regular expression.
    """

    stage = "compilation"

    def __init__(self, source: str, issues: Iterable[Issue]) -> None:
        self.source = source
        reported = tuple(issues)
        self.issues = tuple(sorted(reported[:_REPORTED], key=lambda issue: issue.position))
        texts = [issue.rendered(source) for issue in self.issues]
        if len(reported) > _REPORTED:
            texts.append(f"{len(reported) - _REPORTED} more errors were truncated")
        super().__init__("\n".join(texts))


class ResultTypeError(CompileError):
    """The expression has another type than required; the caller words the refusal."""

    stage = "result"

    def __init__(self, source: str, wanted: str, found: str) -> None:
        super().__init__(source, ())
        self.wanted, self.found = wanted, found
        self.args = (f"must evaluate to {wanted}",)


class InstantiationError(CompileError):
    """A constant part of a well-typed expression cannot be evaluated."""

    stage = "instantiation"

    def __init__(self, source: str, text: str) -> None:
        super().__init__(source, ())
        self.args = (text,)


CALL_LIMIT: Final = 1_000_000
"""The cost limit of one evaluation."""
OBJECT_BUDGET: Final = 10_000_000
"""The cost limit of all rules of an object, or of all expressions of a policy for a request."""
MATCH_BUDGET: Final = 2_500_000
"""The cost limit of all match conditions for a request."""
RULE_ESTIMATE: Final = 10_000_000
"""The limit of the estimated cost of one rule of a custom resource."""
SCHEMA_ESTIMATE: Final = 100_000_000
"""The limit of the estimated cost of all rules of one schema."""
MESSAGE_BYTES: Final = 5_120
"""The longest text of a message expression, in bytes."""
LONGEST_TEXT: Final = 64 * 1024 * 1024
"""The longest text that a function may give, in letters. cel-go has no such limit, and may run out of memory."""
LONGEST_LIST: Final = 1024 * 1024
"""The longest list that ``+`` or a function may make. cel-go has no such limit either."""

_ADVICE: Final = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)


def excess(what: str, cost: int, limit: int) -> str:
    """The message for an estimate above its limit, as kube-apiserver words it.

    Examples
    --------
    >>> excess("estimated rule cost", 405_000_000, RULE_ESTIMATE).partition(" (")[0]
    'estimated rule cost exceeds budget by factor of 40.5x'
    """
    ratio = cost / limit
    factor = "more than 100x" if ratio > 100 else f"{ratio:f}x" if ratio < 1.5 else f"{ratio:.1f}x"
    return f"{what} exceeds budget by factor of {factor} {_ADVICE}"
