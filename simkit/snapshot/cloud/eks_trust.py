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
from urllib.parse import unquote

import orjson

from simkit.meta.identity import service_account_user
from simkit.snapshot.cloud.output import Unexpected

AUDIENCE: Final = "sts.amazonaws.com"
POD_IDENTITY: Final = "pods.eks.amazonaws.com"
_WEB_IDENTITY: Final = "sts:assumerolewithwebidentity"
_ASSUME: Final = "sts:assumerole"
_AUDIENCE_CLAIM: Final = ":aud"
_OPERATOR: Final = re.compile(r"(?:for(?:any|all)values?:)?(string|arn)(not)?(equals|like)(ignorecase)?(?:ifexists)?")
"""The operators on texts. A claim is one text that every token has: how many are asked for, and if any, is the same."""


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
    return tuple(map(_statement, statements_of(role, "AssumeRolePolicyDocument")))


def statements_of(holder: Mapping[str, Any], name: str) -> tuple[Mapping[str, Any], ...]:
    """The statements of the policy in a field: an object, or its text as the API of IAM has it. Raises Unexpected."""
    policy = holder.get(name)
    if isinstance(policy, str):
        try:
            policy = orjson.loads(unquote(policy) if policy.startswith("%") else policy)
        except orjson.JSONDecodeError:
            raise Unexpected(f"{name} is no policy") from None
    statements = policy.get("Statement") if isinstance(policy, Mapping) else None
    listed = [statements] if isinstance(statements, Mapping) else statements
    if not isinstance(listed, list) or not all(isinstance(one, Mapping) for one in listed):
        raise Unexpected(f"Statement of {name} is no list of objects")
    for one in listed:
        allows(one)
    return tuple(listed)


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
        return None if any(one.allows and (not one.plain or _by_token(one)) for one in trust) else False
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
    host = issuer.removeprefix("https://").rstrip("/").lower()
    subject, audience = f"{host}:sub", f"{host}{_AUDIENCE_CLAIM}"
    for one in trust:
        if not one.allows or not one.plain:
            continue
        others = dict.fromkeys(key for _, key, _ in one.conditions if key not in (subject, audience))
        limits = f" if conditions on {', '.join(others)} hold" if others else ""
        if "*" in one.principals.get("AWS", ()):
            yield f"everybody who has an AWS account{limits}"
        if _is_federated(one, host):
            asked = [wanted for _, key, wanted in one.conditions if key == audience]
            if asked and not any(fits(pattern, AUDIENCE) for wanted in asked for pattern in wanted):
                limits = f" with a token for {' or '.join(asked[0])}{limits}"
            wide = [_wide(*condition) for condition in one.conditions if condition[1] == subject]
            if all(wide):
                whom = " and ".join(dict.fromkeys(wide))
                yield f"every service account {whom or 'of the cluster'}{limits}"


def _wide(operator: str, _: str, wanted: Sequence[str]) -> str:
    """The service accounts that a condition on their names leaves, in words; empty if these are single ones."""
    found = _OPERATOR.fullmatch(operator)
    if found is None or found[2]:
        return f"by the condition {operator}"
    patterns = [repr(text) for text in wanted if found[3] == "like" and re.search(r"[*?]", text)]
    return f"that fits {' or '.join(patterns)}" if patterns else ""


def _by_token(statement: Statement) -> bool:
    """True if a statement may name the tokens of some cluster."""
    return "Federated" in statement.principals or "*" in statement.principals.get("AWS", ())


def _is_federated(statement: Statement, host: str) -> bool:
    return bool(host) and any(
        one.lower().endswith(f":oidc-provider/{host.lower()}") for one in statement.principals.get("Federated", ())
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
    found = _OPERATOR.fullmatch(operator)
    if claim is None or found is None:
        return None
    if found[4]:
        claim, wanted = claim.lower(), [one.lower() for one in wanted]
    named = any(fits(one, claim) if found[3] == "like" else one == claim for one in wanted)
    holds = named is not bool(found[2])
    if (not named and has_variable(wanted)) or (of_audience and holds is not allows):
        return None  # a pod can ask for a token for another audience, too, which the account may know or not
    return holds


def has_variable(texts: Iterable[str]) -> bool:
    """Whether texts of a policy have variables, such as ``${aws:username}``, whose values are not known."""
    return any("${" in one for one in texts)


def fits(pattern: str, text: str) -> bool:
    """True if a pattern with ``*`` and ``?`` is that of a text."""
    return fnmatchcase(text, pattern.replace("[", "[[]"))
