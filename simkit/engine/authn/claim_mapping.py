"""Mapping of the claims of a verified token to an identity, by names or by CEL expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from simkit.meta.identity import Identity
from simkit.meta.user_info import user_fields

if TYPE_CHECKING:
    from simkit.language.cel.environment import Environment, Program
    from simkit.schema.structural import Schema

# CEL expressions over the claims of a token, and over the user that results from them.
# References: k8s.io/apiserver/pkg/authentication/cel, release 1.30.

_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_USER: Final[Mapping[str, Any]] = {
    "type": "object",
    "fields": {
        "username": _TEXT,
        "uid": _TEXT,
        "groups": _TEXTS,
        "extra": {"type": "object", "values": _TEXTS},
    },
}


class BadExpression(ValueError):
    """An expression that does not compile, or is of the wrong type; the text is kube-apiserver's."""


class ExpressionFailed(Exception):
    """An expression that could not be evaluated."""


@cache
def _environment(variable: str) -> Environment:
    """The environment with ``claims``, or with ``user``; made with the first expression."""
    from simkit.language.cel.decl_types import DeclType
    from simkit.language.cel.environment import OWN_EXPRESSIONS, Environment, type_named
    from simkit.language.cel.types import Typed
    from simkit.schema.behaviour import default_behaviour
    from simkit.schema.structural import Schema

    types: Mapping[str, Any] = {"claims": type_named("map(string, dyn)")}
    if variable == "user":
        user: Typed = DeclType(Schema(_USER, _unnamed), "user")
        types = {"user": user}
    return Environment(default_behaviour(OWN_EXPRESSIONS), types, version=OWN_EXPRESSIONS)


def _unnamed(name: str) -> Schema:
    """The schema of a user refers to no other."""
    raise KeyError(name)


class Expression:
    """One compiled expression.

    Parameters
    ----------
    source
        The text. Raises BadExpression.
    variable
        ``claims`` or ``user``.
    condition
        Whether it must be true or false.
    """

    def __init__(self, source: str, variable: str = "claims", *, condition: bool = False) -> None:
        from simkit.language.cel.environment import CompileError, ResultTypeError
        from simkit.language.cel.types import BOOL

        self.source, self._variable = source, variable
        try:
            expected = BOOL if condition else None
            self._program: Program = _environment(variable).compile(source, expected=expected)
        except ResultTypeError as error:
            raise BadExpression(str(error)) from error
        except CompileError as error:
            raise BadExpression(f"compilation failed: {error}") from error

    def value(self, bound: Mapping[str, Any]) -> Any:
        """The value for some claims, or a user. Raises ExpressionFailed."""
        from simkit.language.cel.environment import CALL_LIMIT, BudgetExceeded, EvaluationError

        try:
            return self._program.evaluate({self._variable: bound}, budget=CALL_LIMIT).value
        except (EvaluationError, BudgetExceeded) as error:
            raise ExpressionFailed(f"expression '{self.source}' resulted in error: {error}") from error


# Mapping of the claims of a verified token to an identity.
# References: k8s.io/apiserver/plugin/pkg/authenticator/token/oidc/oidc.go, release 1.30.


class TokenRefused(Exception):
    """A token with a valid signature that gives no identity; the text is the reason."""


@dataclass(frozen=True, slots=True)
class ClaimSource:
    """The source of a part of the identity: a claim with a prefix, or an expression."""

    claim: str = ""
    prefix: str = ""
    expression: Expression | None = None

    def __bool__(self) -> bool:
        return bool(self.claim) or self.expression is not None


@dataclass(frozen=True, slots=True)
class ClaimValidationRule:
    """A claim that must have a value, or an expression that must be true."""

    claim: str = ""
    required_value: str = ""
    expression: Expression | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class UserValidationRule:
    """An expression about the user that must be true."""

    expression: Expression
    message: str = ""


@dataclass(frozen=True, slots=True)
class ClaimMapping:
    """All rules of one issuer."""

    username: ClaimSource
    groups: ClaimSource = ClaimSource()
    uid: ClaimSource = ClaimSource()
    extra: Sequence[tuple[str, Expression]] = ()
    claim_rules: Sequence[ClaimValidationRule] = ()
    user_rules: Sequence[UserValidationRule] = ()

    def identity(self, claims: Mapping[str, Any]) -> Identity:
        """The identity that claims give. Raises TokenRefused."""
        user = self._username(claims)
        groups = tuple(self._groups(claims))
        for rule in self.claim_rules:
            _check_claim(rule, claims)
        uid = _text(self.uid, claims, "uid") if self.uid else ""
        extra = {key: values for key, source in self.extra if (values := tuple(_extra(key, source, claims)))}
        identity = Identity(user, groups, uid, extra)
        for each in self.user_rules:
            _check_user(each, identity)
        return identity

    def _username(self, claims: Mapping[str, Any]) -> str:
        name = _text(self.username, claims, "username")
        if not name:
            raise TokenRefused("oidc: the username is empty")
        if self.username.claim == "email" and "email_verified" in claims:
            verified = claims["email_verified"]
            if not isinstance(verified, bool):
                raise TokenRefused("oidc: parse 'email_verified' claim: it is neither true nor false")
            if not verified:
                raise TokenRefused("oidc: email not verified")
        return self.username.prefix + name

    def _groups(self, claims: Mapping[str, Any]) -> Sequence[str]:
        source = self.groups
        if source.expression is not None:
            return _texts(_value(source.expression, claims, "groups"), "groups")
        if not source.claim or source.claim not in claims:
            return ()
        named = claims[source.claim]
        found = [named] if isinstance(named, str) else named
        if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
            raise TokenRefused(f'oidc: parse groups claim "{source.claim}": it holds no texts')
        return [source.prefix + each for each in found]


def _text(source: ClaimSource, claims: Mapping[str, Any], what: str) -> str:
    if source.expression is not None:
        value = _value(source.expression, claims, what)
    elif source.claim not in claims:
        raise TokenRefused(f'oidc: parse {what} claims "{source.claim}": claim not present')
    else:
        value = claims[source.claim]
    if not isinstance(value, str):
        raise TokenRefused(f"oidc: error evaluating {what} claim expression: it must return a string")
    return value


def _value(expression: Expression, claims: Mapping[str, Any], what: str) -> Any:
    try:
        return expression.value(claims)
    except ExpressionFailed as error:
        raise TokenRefused(f"oidc: error evaluating {what} claim expression: {error}") from error


def _texts(value: Any, what: str) -> list[str]:
    """A string or a list of strings; nothing and empty strings count as none."""
    found = [value] if isinstance(value, str) else value
    if value is None:
        return []
    if not isinstance(found, list | tuple) or not all(isinstance(each, str) for each in found):
        raise TokenRefused(f"oidc: error evaluating {what} claim expression: expression must return a string or list")
    return [each for each in found if each]


def _extra(key: str, source: Expression, claims: Mapping[str, Any]) -> list[str]:
    return _texts(_value(source, claims, f"extra {key}"), f"extra {key}")


def _check_claim(rule: ClaimValidationRule, claims: Mapping[str, Any]) -> None:
    if rule.expression is not None:
        if _value(rule.expression, claims, "validation") is not True:
            why = rule.message or "it is not true"
            raise TokenRefused(f"oidc: validation expression '{rule.expression.source}' failed: {why}")
        return
    if rule.claim not in claims:
        raise TokenRefused(f"oidc: required claim {rule.claim} not present in ID token")
    if claims[rule.claim] != rule.required_value:
        raise TokenRefused(f"oidc: required claim {rule.claim} value does not match. Want = {rule.required_value}")


def _check_user(rule: UserValidationRule, identity: Identity) -> None:
    try:
        holds = rule.expression.value(user_fields(identity)) is True
    except ExpressionFailed as error:
        raise TokenRefused(f"oidc: error evaluating user info validation rule: {error}") from error
    if not holds:
        why = f"validation expression '{rule.expression.source}' failed: {rule.message}"
        raise TokenRefused(f"oidc: error evaluating user info validation rule: {why}")
