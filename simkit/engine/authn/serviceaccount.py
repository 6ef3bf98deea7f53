"""Service account tokens: issued with the signing key, verified with the key files, revoked with their objects.

References
----------
k8s.io/kubernetes/pkg/serviceaccount, release 1.30.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from simkit.client.resources import SERVICE_ACCOUNTS
from simkit.engine.authn.bearer import InvalidToken, TokenResponse, looks_signed
from simkit.engine.authn.token_sources import ObjectGetter, secret_value
from simkit.meta.clock import Clock
from simkit.meta.domain import LABEL_DOMAIN, label
from simkit.meta.errors import unauthorized
from simkit.meta.identity import Identity, service_account_groups, service_account_user
from simkit.meta.message import Credentials
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, metadata, name_of, namespace_of
from simkit.seams import Token

if TYPE_CHECKING:
    from simkit.engine.authn.jws import Signer
    from simkit.engine.authn.signing_keys import VerificationKey

# Claims of service account tokens, bound and legacy.
# References: k8s.io/kubernetes/pkg/serviceaccount/claims.go and legacy.go, release 1.30.

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


SECRET_TYPE: Final = label("service-account-token")
_EXTRA: Final = label("", "authentication")
_LEEWAY: Final = 60
_LONGEST_REMEMBERED: Final = 8192
"""Letters of a token that is remembered. Those of pods have about a thousand."""
_REMEMBERED: Final = 4096
_RESOURCES: Final = {kind: GroupResource("", f"{kind}s") for kind in ("pod", "secret", "node")}


def generated_key() -> Signer:
    """A signer with a new key."""
    from simkit.engine.authn.jws import Signer
    from simkit.engine.authn.signing_keys import new_key

    return Signer(new_key())


class Issuer:
    """Signs service account tokens as an issuer, with a key that is read or generated when it is needed first.

    Parameters
    ----------
    load
        Reads the private key, or generates one. It may raise SimkitError, which every use of the key then raises.
    issuer
        What tokens carry as ``iss`` unless their claims say otherwise (legacy tokens do).

    Notes
    -----
    The key imports cryptography, a sixth of the memory of a server at rest and much of its start.
    """

    def __init__(self, load: Callable[[], Signer] = generated_key, issuer: str = DEFAULT_ISSUER) -> None:
        self._load, self.issuer = load, issuer
        self._signer: Signer | None = None
        self._lock = Lock()

    def _loaded(self) -> Signer:
        with self._lock:
            if self._signer is None:
                self._signer = self._load()
            return self._signer

    @property
    def is_made(self) -> bool:
        """True if the key was needed yet; before, no token of a generated key can be good."""
        return self._signer is not None

    @property
    def public(self) -> VerificationKey:
        """The key that verifies the tokens."""
        return self._loaded().public

    def issue(self, claims: Mapping[str, Any]) -> Token:
        """The signed token with the claims."""
        return Token(self._loaded().sign({"iss": self.issuer, **claims}))


class ServiceAccountTokens:
    """Verifies service account tokens.

    Parameters
    ----------
    keys
        Gives the keys, any of which may have signed a token. It is asked when a token of these issuers comes.
    lookup
        How to read the account and the bound objects as they are now; None leaves revocation out.
    clock
        On which tokens expire.
    issuers
        Accepted values of ``iss``; tokens of others are not this authenticator's business.
    audiences
        For whom a token must be when it is used here. Defaults to the issuers.

    Notes
    -----
    A signature is verified once and remembered; times and objects are looked at on every request.
    """

    leaves_process: Final = False

    def __init__(
        self,
        keys: Callable[[], Sequence[VerificationKey]],
        lookup: ObjectGetter | None,
        clock: Clock,
        *,
        issuers: Sequence[str] = (DEFAULT_ISSUER,),
        audiences: Sequence[str] = (),
    ) -> None:
        self._keys, self._lookup, self._clock = keys, lookup, clock
        self._issuers = frozenset((*issuers, LEGACY_ISSUER))
        self.audiences = tuple(audiences or issuers)
        self._claims: OrderedDict[str, Mapping[str, Any] | None] = OrderedDict()
        self._lock = Lock()

    def authenticate(self, credentials: Credentials) -> Identity | None:
        """The service account of the bearer token; None for other tokens. Raises 401 for an invalid one."""
        try:
            verified = self.verify(credentials.bearer) if credentials.bearer else None
        except InvalidToken as error:
            raise unauthorized() from error
        return verified.identity if verified else None

    def verify(self, token: str, audiences: Sequence[str] = ()) -> TokenResponse | None:
        """The identity and audiences of a token; None if it is no service account token of these issuers.

        Raises InvalidToken for a token that is bad, or for none of the audiences (default: this server's own).
        """
        claims = self._signed_claims(token)
        if claims is None:
            return None
        subject = subject_of(claims)
        if subject is None:
            raise InvalidToken("invalid claims in the service account token")
        meant = self._meant_for(claims, audiences or self.audiences)
        legacy = bool(subject.legacy_secret)
        if not legacy:
            self._check_times(claims)
        if self._lookup is not None:
            self._check_objects(self._lookup, subject, token)
        return TokenResponse(identity_of(subject, claims), meant)

    def _signed_claims(self, token: str) -> Mapping[str, Any] | None:
        """The claims of a token with a valid signature; None for another issuer's token."""
        if token in self._claims:
            return self._claims[token]
        if not looks_signed(token):
            return None
        from simkit.engine.authn.jws import Malformed, parse

        try:
            parsed = parse(token)
        except Malformed:
            return None
        issuer = parsed.claims.get("iss")
        if not isinstance(issuer, str) or issuer not in self._issuers:
            return None
        if not parsed.verified_by(self._keys()):
            raise InvalidToken("invalid signature of the service account token")
        if len(token) > _LONGEST_REMEMBERED:
            return parsed.claims
        with self._lock:
            self._claims[token] = parsed.claims
            while len(self._claims) > _REMEMBERED:
                self._claims.popitem(last=False)
        return parsed.claims

    def _meant_for(self, claims: Mapping[str, Any], wanted: Sequence[str]) -> tuple[str, ...]:
        named = claims.get("aud")
        named = self.audiences if named in (None, "", []) else named
        named = [named] if isinstance(named, str) else named
        if not isinstance(named, Sequence) or not all(isinstance(each, str) for each in named):
            raise InvalidToken("the audiences of the service account token are no texts")
        asked = frozenset(wanted)
        meant = tuple(audience for audience in named if audience in asked)
        if not meant:
            raise InvalidToken(
                f"token audiences {_quoted(named)} is invalid for the target audiences {_quoted(wanted)}"
            )
        return meant

    def _check_times(self, claims: Mapping[str, Any]) -> None:
        now = self._clock.now()
        end, start = claims.get("exp"), claims.get("nbf", 0)
        if not isinstance(end, int | float) or not isinstance(start, int | float):
            raise InvalidToken("service account token claims could not be validated")
        if now > end + _LEEWAY:
            raise InvalidToken("service account token has expired")
        if now < start - _LEEWAY:
            raise InvalidToken("service account token is not valid yet")

    def _check_objects(self, lookup: ObjectGetter, subject: Subject, token: str) -> None:
        account = lookup(SERVICE_ACCOUNTS, subject.namespace, subject.name)
        self._check_alive(account, subject.uid, "service account")
        if subject.legacy_secret:
            secret = lookup(_RESOURCES["secret"], subject.namespace, subject.legacy_secret)
            if secret is None or metadata(secret).get("deletionTimestamp") or secret_value(secret, "token") != token:
                raise InvalidToken("service account token has been invalidated")
        for item in subject.bound:
            if item.kind != "node":
                found = lookup(_RESOURCES[item.kind], subject.namespace, item.name)
                self._check_alive(found, item.uid, item.kind)
            elif len(subject.bound) == 1:  # beside a pod its node is told, not required
                self._check_alive(lookup(_RESOURCES["node"], "", item.name), item.uid, "node")

    def _check_alive(self, obj: Object | None, uid: str, what: str) -> None:
        """Check that the account and the bound object exist; a token outlives its object by at most a minute."""
        if obj is None or metadata(obj).get("uid") != uid:
            raise InvalidToken(f"service account token has been invalidated: its {what} is gone")
        deleted = metadata(obj).get("deletionTimestamp")
        if deleted and datetime.fromisoformat(deleted).timestamp() < self._clock.now() - _LEEWAY:
            raise InvalidToken(f"service account token has been invalidated: its {what} is being deleted")


def identity_of(subject: Subject, claims: Mapping[str, Any]) -> Identity:
    """The identity of a verified token, with its pod, node and own identifier as extra."""
    extra: dict[str, Sequence[str]] = {}
    bound: dict[str, BoundObject] = {item.kind: item for item in subject.bound}
    for kind in ("pod", "node"):
        if item := bound.get(kind):
            extra[f"{_EXTRA}{kind}-name"] = (item.name,)
            extra[f"{_EXTRA}{kind}-uid"] = (item.uid,)
    if isinstance(claims.get("jti"), str) and claims["jti"]:
        extra[f"{_EXTRA}credential-id"] = (f"JTI={claims['jti']}",)
    user = service_account_user(subject.namespace, subject.name)
    return Identity(user, service_account_groups(subject.namespace), subject.uid, extra)


def key_set(keys: Sequence[VerificationKey]) -> dict[str, Any]:
    """The keys as the JSON web key set that relying parties fetch."""
    return {"keys": [key.jwk() for key in keys]}


def discovery_document(issuer: str, keys: Sequence[VerificationKey], jwks_uri: str) -> dict[str, Any]:
    """The discovery document for relying parties: the issuer, the address of its keys, and their algorithms."""
    return {
        "issuer": issuer,
        "jwks_uri": jwks_uri,
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": sorted({key.algorithm for key in keys}),
    }


def _quoted(words: Sequence[str]) -> str:
    return "[" + " ".join(f'"{word}"' for word in words) + "]"
