"""Trust policies of IAM roles: which service accounts of a cluster may assume a role, and who else.

A pod can ask for a token of its service account for the audience of AWS by itself, so every service account that a
trust policy names can assume the role, whether or not it is annotated.

References
----------
AWS IAM user guide: "IAM JSON policy elements: Condition operators", "Principal"; Amazon EKS user guide: "IAM roles for
service accounts", "Learn how EKS Pod Identity grants pods access to AWS services".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from simkit.meta.identity import service_account_user
from simkit.snapshot.cloud.output import Unexpected, mapping

AUDIENCE: Final = "sts.amazonaws.com"
POD_IDENTITY: Final = "pods.eks.amazonaws.com"
_WEB_IDENTITY: Final = "sts:assumerolewithwebidentity"
_ASSUME: Final = "sts:assumerole"
_AUDIENCE_CLAIM: Final = ":aud"
_EXACT: Final = ("stringequals", "foranyvalue:stringequals", "arnequals")
_LIKE: Final = ("stringlike", "foranyvalue:stringlike", "arnlike")


class Statement(NamedTuple):
    """A statement of a trust policy: its actions, principals by kind, and conditions by operator and key."""

    allows: bool
    actions: tuple[str, ...]
    principals: Mapping[str, tuple[str, ...]]
    conditions: tuple[tuple[str, str, tuple[str, ...]], ...]
    plain: bool
    """False if it has parts that are not read, such as ``NotPrincipal``."""


def trust_of(role: Mapping[str, Any]) -> tuple[Statement, ...]:
    """The statements of the trust policy of a role as ``aws iam get-role`` has it. Raises Unexpected."""
    statements = mapping(role, "AssumeRolePolicyDocument").get("Statement")
    listed = [statements] if isinstance(statements, Mapping) else statements
    if not isinstance(listed, list) or not all(isinstance(one, Mapping) for one in listed):
        raise Unexpected("Statement of AssumeRolePolicyDocument is no list of objects")
    return tuple(map(_statement, listed))


def _statement(value: Mapping[str, Any]) -> Statement:
    named = value.get("Principal")
    principals = {"AWS": named} if isinstance(named, str) else named or {}
    conditions = value.get("Condition") or {}
    if not isinstance(principals, Mapping) or not isinstance(conditions, Mapping):
        raise Unexpected("a statement of AssumeRolePolicyDocument is not as documented")
    told = tuple(
        (str(operator).lower(), str(key).lower(), texts_of(wanted))
        for operator, keys in conditions.items()
        if isinstance(keys, Mapping)
        for key, wanted in keys.items()
    )
    plain = not {"NotPrincipal", "NotAction"} & value.keys() and all(
        isinstance(one, Mapping) for one in conditions.values()
    )
    who = {str(kind): texts_of(names) for kind, names in principals.items()}
    actions = tuple(one.lower() for one in texts_of(value.get("Action")))
    return Statement(allows(value), actions, who, told, plain)


def allows(statement: Mapping[str, Any]) -> bool:
    """Whether a statement of a policy allows, rather than denies. Raises Unexpected."""
    effect = statement.get("Effect")
    if effect not in ("Allow", "Deny"):
        raise Unexpected("the Effect of a statement is neither Allow nor Deny")
    return bool(effect == "Allow")


def texts_of(value: Any) -> tuple[str, ...]:
    """The texts of a part of a policy that is one text or a list of them."""
    listed = value if isinstance(value, list) else [value] if value is not None else []
    return tuple(str(one).lower() if isinstance(one, bool) else str(one) for one in listed)


def trusts_account(trust: Sequence[Statement], issuer: str, namespace: str, name: str) -> bool | None:
    """Whether a role lets a service account of the cluster assume it by its token; None if that is not known."""
    host = issuer.removeprefix("https://").rstrip("/")
    if not host:
        return None
    claims = {
        f"{host}:sub".lower(): service_account_user(namespace, name),
        f"{host}{_AUDIENCE_CLAIM}".lower(): AUDIENCE,
    }
    return combined(_holds(one, _WEB_IDENTITY, _is_federated(one, host), claims) for one in trust)


def why_undecided(trust: Sequence[Statement], issuer: str) -> Iterator[str]:
    """Why it may not be known which service accounts a role trusts, in words, where conditions on tokens tell it."""
    host = issuer.removeprefix("https://").rstrip("/").lower()
    conditions = [(key, wanted) for one in trust for _, key, wanted in one.conditions]
    if any(
        key == f"{host}{_AUDIENCE_CLAIM}" and not any(fits(one, AUDIENCE) for one in wanted)
        for key, wanted in conditions
    ):
        yield f"it asks for another audience than {AUDIENCE}, for which pods can get tokens"
    if any(has_variable(wanted) for _, wanted in conditions):
        yield "it has policy variables"


def trusts_pod_identity(trust: Sequence[Statement]) -> bool | None:
    """Whether a role lets Pod Identity assume it; None if that is not known."""
    return combined(_holds(one, _ASSUME, POD_IDENTITY in one.principals.get("Service", ()), {}) for one in trust)


def wide_trust(trust: Sequence[Statement], issuer: str) -> Iterator[str]:
    """Whom a role trusts beyond single principals, in words: everybody, or service accounts of a pattern."""
    host = issuer.removeprefix("https://").rstrip("/")
    for one in trust:
        if not one.allows or not one.plain:
            continue
        if "*" in one.principals.get("AWS", ()) and not one.conditions:
            yield "everybody who has an AWS account"
        if host and _is_federated(one, host):
            wanted = [names for _, key, names in one.conditions if key == f"{host}:sub".lower()]
            if not wanted:
                yield "every service account of the cluster"
            for pattern in (text for names in wanted for text in names if re.search(r"[*?]", text)):
                yield f"every service account that fits {pattern!r}"


def _is_federated(statement: Statement, host: str) -> bool:
    return bool(host) and any(
        one.endswith(f":oidc-provider/{host}") for one in statement.principals.get("Federated", ())
    )


def combined(answers: Iterable[tuple[bool, bool | None]]) -> bool | None:
    """What statements decide together, each with whether it allows and whether it holds."""
    found = list(answers)
    denied = [holds for allows, holds in found if not allows]
    if True in denied:
        return False
    given = [holds for allows, holds in found if allows]
    if True in given and None not in denied:
        return True
    return None if True in given or None in given else False


def _holds(statement: Statement, action: str, named: bool, claims: Mapping[str, str]) -> tuple[bool, bool | None]:
    """Whether a statement allows, and whether it holds for a request with some claims."""
    if not statement.plain:
        return statement.allows, None
    everybody = "*" in statement.principals.get("AWS", ())
    if not (named or everybody) or not any(fits(one, action) for one in statement.actions):
        return statement.allows, False
    answers = [
        _condition(operator, claims.get(key), wanted, key.endswith(_AUDIENCE_CLAIM), allows=statement.allows)
        for operator, key, wanted in statement.conditions
    ]
    holds = False if False in answers else None if None in answers else True
    return statement.allows, holds if named or holds is False else None


def _condition(
    operator: str, claim: str | None, wanted: Sequence[str], of_audience: bool, *, allows: bool
) -> bool | None:
    if claim is None or operator not in (*_EXACT, *_LIKE):
        return None
    holds = any(fits(one, claim) if operator in _LIKE else one == claim for one in wanted)
    if (not holds and has_variable(wanted)) or (of_audience and holds is not allows):
        return None  # a pod can ask for a token for another audience, too, which the account may know or not
    return holds


def has_variable(texts: Iterable[str]) -> bool:
    """Whether texts of a policy have variables, such as ``${aws:username}``, whose values are not known."""
    return any("${" in one for one in texts)


def fits(pattern: str, text: str) -> bool:
    """True if a pattern with ``*`` and ``?`` is that of a text."""
    return fnmatchcase(text, pattern.replace("[", "[[]"))
