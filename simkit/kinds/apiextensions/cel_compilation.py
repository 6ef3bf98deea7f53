"""Compilation of the CEL rules of a schema node, with their estimated cost.

Follows ``k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/compilation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from simkit.kinds.apiextensions.fieldpath import BadPath, normalized
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
