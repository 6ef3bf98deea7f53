"""Compilation of the CEL rules of a definition, and the resolution of their ``fieldPath`` against the schema.

Upstream: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel, compilation.go and validation.go, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from simkit.language.cel.decl_types import MAX_REQUEST, DeclType, schema_decl_type
from simkit.language.cel.environment import (
    CompileError,
    Environment,
    Program,
    own_version,
    stored_version,
    written_version,
)
from simkit.language.cel.types import BOOL, STRING, Type, optional_of
from simkit.meta.behaviour import BASE_MINOR, ServedBehaviour
from simkit.schema.structural import Schema

_TOKEN: Final = re.compile(r"'(?:[^']|(?<=\\)')*+'?|[.\[\]]|[^.\[\]'][^.\[\]]*+")
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class BadPath(ValueError):
    """A path that leads to no field of the schema; ``str()`` is the reason."""


def normalized(path: str, schema: Schema) -> str:
    """The path in the form of errors, without the leading dot. Raises BadPath if the schema has no such field.

    Examples
    --------
    >>> node = Schema({"type": "object", "fields": {"a": {"type": "object", "values": {"type": "string"}}}}, Schema)
    >>> normalized(".a['x.y']", node)
    'a[x.y]'
    """
    return resolved(path, schema)[0]


def resolved(path: str, schema: Schema, *, brackets: bool = True) -> tuple[str, Schema]:
    """The path in the form of errors, and its node. ``brackets``: whether names may stand in them."""
    found, node = "", schema
    for name in _names(path, brackets):
        if node.row.get("fields") is not None:
            below = node.fields.get(name)
            found += f".{name}"
        else:
            below = node.values
            found += f"[{name}]"
        if below is None:
            raise BadPath("does not refer to a valid field")
        node = below
    return found.removeprefix("."), node


def _names(path: str, brackets: bool) -> Iterator[str]:
    tokens = iter(_TOKEN.findall(path))
    for token in tokens:
        if token == ".":
            yield _next(tokens)
        elif token != "[":
            raise BadPath(f"expected [ or . but got: {token}")
        elif not brackets:
            raise BadPath("array notation is not allowed")
        else:
            yield _quoted(tokens)


def _quoted(tokens: Iterator[str]) -> str:
    text = _next(tokens)
    if len(text) < 2 or text[0] != "'" or text[-1] != "'":
        raise BadPath(f"expected single quoted string but got {text}")
    name = _unescaped(text[1:-1])
    closing = _next(tokens)
    if closing != "]":
        raise BadPath(f"expected ] but got {closing}")
    return name


def _next(tokens: Iterator[str]) -> str:
    token = next(tokens, None)
    if token is None:
        raise BadPath("unexpected end of JSON path")
    return token


def _unescaped(text: str) -> str:
    def letter(found: re.Match[str]) -> str:
        if found[1] not in _ESCAPES:
            raise BadPath("invalid string literal: invalid syntax")
        return _ESCAPES[found[1]]

    return re.sub(r"\\(.)", letter, text)


Rule = Mapping[str, Any]
_SELF_TYPE: Final = "selfType1"
_STAGES: Final = {
    "compilation": "compilation failed: {}",
    "instantiation": "program instantiation failed: {}",
}
_MESSAGE_STAGES: Final = {
    "compilation": "messageExpression compilation failed: {}",
    "instantiation": "messageExpression instantiation failed: {}",
}


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """One rule: its programs, or the reason why there are none."""

    rule: Rule
    program: Program | None = None
    message: Program | None = None
    error: str = ""
    message_error: str = ""
    path: str = ""
    """The field in error messages, below the node."""

    @property
    def uses_old(self) -> bool:
        return self.program is not None and self.program.uses("oldSelf")

    @property
    def optional_old(self) -> bool:
        return bool(self.rule.get("optionalOldSelf"))


def declared_node(schema: Schema, *, root: bool) -> DeclType | None:
    """The type of ``self`` in rules of a node; None if rules must not see the value."""
    return schema_decl_type(schema, _SELF_TYPE, resource=root)


def cardinality(node: DeclType) -> int:
    """The largest number of values of a node in one request."""
    return MAX_REQUEST // (node.min_size + 1)


def compiled(behaviour: ServedBehaviour, rule: Rule, schema: Schema, node: DeclType, *, stored: bool) -> CompiledRule:
    """A rule of a node, compiled as a new or as a stored expression.

    At 1.30 one that is being written may use what only stored ones have there (functions of addresses): definitions
    are written for it, and servers of that release that take them are in use.
    """
    source = rule.get("rule") or ""
    if not source.strip():
        return CompiledRule(rule)
    version = stored_version(behaviour) if stored else written_version(behaviour)
    found = _compiled(rule, schema, _environment(behaviour, rule, node, version))
    if stored or not (found.error or found.message_error) or behaviour.minor != BASE_MINOR:
        return found
    later = _compiled(rule, schema, _environment(behaviour, rule, node, own_version(behaviour)))
    return found if later.error or later.message_error else later


def _compiled(rule: Rule, schema: Schema, environment: Environment) -> CompiledRule:
    try:
        program = environment.compile(rule["rule"], expected=BOOL)
    except CompileError as error:
        wanted = "cel expression must evaluate to a bool"
        return CompiledRule(rule, error=_STAGES.get(error.stage, wanted).format(error))
    message, wrong = _message(rule, environment)
    return CompiledRule(rule, program, message, message_error=wrong, path=_path(rule, schema))


def _environment(behaviour: ServedBehaviour, rule: Rule, node: DeclType, version: str) -> Environment:
    old: DeclType | Type = optional_of(node.type) if rule.get("optionalOldSelf") else node
    return Environment(behaviour, {"self": node, "oldSelf": old}, version=version)


def _message(rule: Rule, environment: Environment) -> tuple[Program | None, str]:
    source = rule.get("messageExpression") or ""
    if not source.strip():
        return None, ""
    try:
        return environment.compile(source, expected=STRING), ""
    except CompileError as error:
        wanted = "messageExpression must evaluate to a string"
        return None, _MESSAGE_STAGES.get(error.stage, wanted).format(error)


def _path(rule: Rule, schema: Schema) -> str:
    given = rule.get("fieldPath") or ""
    if not given:
        return ""
    try:
        return normalized(given, schema)
    except BadPath:
        return ""
