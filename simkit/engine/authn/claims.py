"""Claims of service account tokens, bound and legacy.

References
----------
k8s.io/kubernetes/pkg/serviceaccount/claims.go and legacy.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.meta.domain import LABEL_DOMAIN, label
from simkit.meta.identity import service_account_user
from simkit.meta.objects import Object, metadata, name_of, namespace_of

LEGACY_ISSUER: Final = f"{LABEL_DOMAIN.partition('.')[0]}/serviceaccount"
DEFAULT_ISSUER: Final = "https://kubernetes.default.svc"
_PRIVATE: Final = LABEL_DOMAIN
_LEGACY: Final = label("serviceaccount")
WARN_ONLY_LIFETIME: Final = 3607
"""The lifetime that mounted tokens request; they get a year instead, and later use is reported."""
EXTENDED_LIFETIME: Final = 365 * 24 * 3600


class BoundObject(NamedTuple):
    """An object that a token names: kind in lower case, name and uid."""

    kind: str
    name: str
    uid: str


def bound_claims(
    account: Object,
    *,
    audiences: Sequence[str],
    seconds: int,
    now: float,
    identifier: str,
    bound: Sequence[BoundObject] = (),
    extend: bool = False,
) -> dict[str, Any]:
    """The claims of a token made on request.

    Parameters
    ----------
    account
        The ServiceAccount object.
    audiences, seconds
        For whom, and for how long from now.
    identifier
        A fresh uid, the token's own.
    bound
        The pod (with its node) or secret without which the token dies.
    extend
        Whether a mounted token's usual lifetime becomes a year, with a warning after the usual one.
    """
    start = int(now)
    private: dict[str, Any] = {"namespace": namespace_of(account)}
    for item in bound:
        private[item.kind] = {"name": item.name, "uid": item.uid}
    private["serviceaccount"] = {"name": name_of(account), "uid": metadata(account).get("uid", "")}
    lifetime = seconds
    if extend and seconds == WARN_ONLY_LIFETIME:
        lifetime = EXTENDED_LIFETIME
        private["warnafter"] = start + seconds
    return {
        "aud": list(audiences),
        "exp": start + lifetime,
        "iat": start,
        "jti": identifier,
        _PRIVATE: private,
        "nbf": start,
        "sub": service_account_user(namespace_of(account), name_of(account)),
    }


def legacy_claims(account: Object, secret_name: str) -> dict[str, Any]:
    """The claims of the unlimited token in a secret of the service account token type."""
    return {
        "iss": LEGACY_ISSUER,
        f"{_LEGACY}/namespace": namespace_of(account),
        f"{_LEGACY}/secret.name": secret_name,
        f"{_LEGACY}/service-account.name": name_of(account),
        f"{_LEGACY}/service-account.uid": metadata(account).get("uid", ""),
        "sub": service_account_user(namespace_of(account), name_of(account)),
    }


class Subject(NamedTuple):
    """The account of a token, and the object that it is bound to."""

    namespace: str
    name: str
    uid: str
    bound: tuple[BoundObject, ...] = ()
    legacy_secret: str = ""


def warn_after(claims: Mapping[str, Any]) -> float:
    """The time after which a token should have been replaced, in seconds since 1970; 0 if it has none."""
    private = claims.get(_PRIVATE)
    term = private.get("warnafter") if isinstance(private, Mapping) else None
    return float(term) if isinstance(term, int | float) else 0.0


def subject_of(claims: Mapping[str, Any]) -> Subject | None:
    """The subject of a token's claims; None if they are incomplete or inconsistent."""
    found = _legacy_subject(claims) if claims.get("iss") == LEGACY_ISSUER else _bound_subject(claims)
    if found is None or not all(isinstance(part, str) and part for part in found[:3]):
        return None
    return found if claims.get("sub") == service_account_user(found.namespace, found.name) else None


def _legacy_subject(claims: Mapping[str, Any]) -> Subject | None:
    keys = ("namespace", "service-account.name", "service-account.uid", "secret.name")
    namespace, name, uid, secret = (claims.get(f"{_LEGACY}/{key}") for key in keys)
    return Subject(namespace or "", name or "", uid or "", (), secret) if isinstance(secret, str) and secret else None


def _bound_subject(claims: Mapping[str, Any]) -> Subject | None:
    private = claims.get(_PRIVATE)
    if not isinstance(private, Mapping):
        return None
    account = _reference(private, "serviceaccount")
    others = (private.get(kind) for kind in ("pod", "secret", "node"))
    if account is None or not all(item is None or isinstance(item, Mapping) for item in others):
        return None
    bound = tuple(item for kind in ("pod", "secret", "node") if (item := _reference(private, kind)) is not None)
    return Subject(private.get("namespace") or "", account.name, account.uid, bound)


def _reference(private: Mapping[str, Any], kind: str) -> BoundObject | None:
    item = private.get(kind)
    if not isinstance(item, Mapping):
        return None
    return BoundObject(kind, str(item.get("name", "")), str(item.get("uid", "")))
