"""The authentication configuration file: issuers of tokens, and the mapping of their claims to identities.

References
----------
k8s.io/apiserver/pkg/apis/apiserver/validation/validation.go and KEP-3331, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from simkit.engine.authn.claim_mapping import (
    BadExpression,
    ClaimMapping,
    ClaimSource,
    ClaimValidationRule,
    Expression,
    UserValidationRule,
)
from simkit.engine.authn.oidc import Provider, ProviderTokens, over_https
from simkit.engine.authn.signing_keys import ALGORITHMS
from simkit.engine.egress import configfile
from simkit.engine.egress.files import DynamicFile
from simkit.meta.clock import Clock
from simkit.meta.domain import API_DOMAIN, LABEL_DOMAIN
from simkit.meta.errors import StatusError
from simkit.meta.fielderror import FieldError, duplicate, invalid_value, required, too_many
from simkit.meta.identity import Identity
from simkit.meta.message import Credentials
from simkit.meta.name_validation import dns_subdomain
from simkit.seams import Meter

KIND: Final = "AuthenticationConfiguration"
MOST: Final = 64
_FAMILY: Final = "apiserver_authentication_config_controller_automatic_reload"
_EMAIL, _VERIFIED = (re.compile(rf"\bclaims\s*\.\s*\??{name}\b") for name in ("email", "email_verified"))
_PATH: Final = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")

Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Issuer(_Document):
    """The issuer of tokens, and their required audiences."""

    url: Text = ""
    discovery_url: Text = Field("", alias="discoveryURL")
    authorities: Text = Field("", alias="certificateAuthority")
    audiences: tuple[str, ...] = ()
    audience_match_policy: Text = Field("", alias="audienceMatchPolicy")


class ClaimRuleEntry(_Document):
    """A claim with its value, or an expression."""

    claim: Text = ""
    required_value: Text = Field("", alias="requiredValue")
    expression: Text = ""
    message: Text = ""


class PrefixedSource(_Document):
    """A claim with the prefix that its value gets, or an expression."""

    claim: Text = ""
    prefix: str | None = None
    expression: Text = ""


class PlainSource(_Document):
    """A claim or an expression."""

    claim: Text = ""
    expression: Text = ""


class ExtraEntry(_Document):
    """An attribute, and the expression that gives its values."""

    key: Text = ""
    expression: Text = Field("", alias="valueExpression")


class Mappings(_Document):
    """The sources of the parts of an identity."""

    username: PrefixedSource = Field(default_factory=lambda: PrefixedSource.model_validate({}))
    groups: PrefixedSource = Field(default_factory=lambda: PrefixedSource.model_validate({}))
    uid: PlainSource = Field(default_factory=lambda: PlainSource.model_validate({}))
    extra: tuple[ExtraEntry, ...] = ()


class UserRuleEntry(_Document):
    """An expression about the user."""

    expression: Text = ""
    message: Text = ""


class Entry(_Document):
    """One issuer with its rules."""

    issuer: Issuer = Field(default_factory=lambda: Issuer.model_validate({}))
    claim_rules: tuple[ClaimRuleEntry, ...] = Field((), alias="claimValidationRules")
    mappings: Mappings = Field(default_factory=lambda: Mappings.model_validate({}), alias="claimMappings")
    user_rules: tuple[UserRuleEntry, ...] = Field((), alias="userValidationRules")


class Document(_Document):
    """The whole file."""

    api_version: str = Field(alias="apiVersion")
    kind: str
    jwt: tuple[Entry, ...] = ()


Checked = tuple[Issuer, ClaimMapping]


def parse(content: bytes, disallowed: Sequence[str] = (), source: str = "the file") -> list[Checked]:
    """The issuers in a file's content. Raises SimkitError with all its errors."""
    checked, errors = check(configfile.parse(content, Document, KIND, source), disallowed)
    configfile.refuse(errors, source)
    return checked


def check(document: Document, disallowed: Sequence[str] = ()) -> tuple[list[Checked], list[FieldError]]:
    """The issuers of a document, and all its errors in kube-apiserver's words."""
    if len(document.jwt) > MOST:
        return [], [too_many("jwt", len(document.jwt), MOST)]
    errors, checked = list[FieldError](), list[Checked]()
    seen: dict[str, set[str]] = {"url": set(), "discoveryURL": set()}
    for index, entry in enumerate(document.jwt):
        path = f"jwt[{index}]"
        errors += _issuer_errors(entry.issuer, f"{path}.issuer", disallowed)
        checker = _Checker(entry, path)
        checked.append((entry.issuer, checker.mapping()))
        errors += checker.errors
        for field, value in (("url", entry.issuer.url), ("discoveryURL", entry.issuer.discovery_url)):
            if value and value in seen[field]:
                errors.append(duplicate(f"{path}.issuer.{field}", value))
            seen[field].add(value)
    return checked, errors


def _issuer_errors(issuer: Issuer, path: str, disallowed: Sequence[str]) -> list[FieldError]:
    errors = _url_errors(issuer.url, f"{path}.url", disallowed) if issuer.url else [required(f"{path}.url")]
    if issuer.discovery_url:
        field = f"{path}.discoveryURL"
        if issuer.url and issuer.url.rstrip("/") == issuer.discovery_url.rstrip("/"):
            errors.append(invalid_value(field, issuer.discovery_url, "discoveryURL must be different from URL"))
        errors += _url_errors(issuer.discovery_url, field)
    errors += _audience_errors(issuer, path)
    if issuer.authorities and "-----BEGIN CERTIFICATE-----" not in issuer.authorities:
        shown = "data does not contain any valid RSA or ECDSA certificates"
        errors.append(invalid_value(f"{path}.certificateAuthority", "<omitted>", shown))
    return errors


def _url_errors(url: str, path: str, disallowed: Sequence[str] = ()) -> list[FieldError]:
    errors = []
    if url in disallowed:
        listed = f"[{' '.join(sorted(disallowed))}]"
        errors.append(invalid_value(path, url, f"URL must not overlap with disallowed issuers: {listed}"))
    try:
        parts = urlsplit(url)
    except ValueError as error:
        return [*errors, invalid_value(path, url, str(error))]
    checks = (
        (parts.scheme != "https", "URL scheme must be https"),
        (parts.username is not None or parts.password is not None, "URL must not contain a username or password"),
        (bool(parts.query), "URL must not contain a query"),
        (bool(parts.fragment), "URL must not contain a fragment"),
    )
    return errors + [invalid_value(path, url, text) for wrong, text in checks if wrong]


def _audience_errors(issuer: Issuer, path: str) -> list[FieldError]:
    field, policy = f"{path}.audiences", issuer.audience_match_policy
    if not issuer.audiences:
        return [required(field, f"at least one {field} is required")]
    errors, seen = list[FieldError](), set[str]()
    for index, audience in enumerate(issuer.audiences):
        if not audience:
            errors.append(required(f"{field}[{index}]"))
        if audience in seen:
            errors.append(duplicate(f"{field}[{index}]", audience))
        seen.add(audience)
    matching = f"{path}.audienceMatchPolicy"
    if len(issuer.audiences) > 1 and policy != "MatchAny":
        errors.append(invalid_value(matching, policy, "audienceMatchPolicy must be MatchAny for multiple audiences"))
    if len(issuer.audiences) == 1 and policy not in ("", "MatchAny"):
        text = "audienceMatchPolicy must be empty or MatchAny for single audience"
        errors.append(invalid_value(matching, policy, text))
    return errors


class _Checker:
    """Compiles the rules of one issuer and collects their errors."""

    def __init__(self, entry: Entry, path: str) -> None:
        self._entry, self._path = entry, path
        self.errors: list[FieldError] = []

    def mapping(self) -> ClaimMapping:
        """The compiled rules; not to be used if there are errors."""
        rules = self._claim_rules()
        mappings, path = self._entry.mappings, f"{self._path}.claimMappings"
        return ClaimMapping(
            self._prefixed(mappings.username, f"{path}.username", needed=True),
            self._prefixed(mappings.groups, f"{path}.groups", needed=False),
            self._uid(mappings.uid, f"{path}.uid"),
            self._extra(mappings.extra, f"{path}.extra"),
            rules,
            self._user_rules(),
        )

    def _error(self, field: str, value: Any, text: str) -> None:
        self.errors.append(invalid_value(field, value, text))

    def _compiled(self, source: str, field: str, variable: str = "claims", *, condition: bool) -> Expression | None:
        try:
            return Expression(source, variable, condition=condition)
        except BadExpression as error:
            self._error(field, source, str(error))
            return None

    def _claim_rules(self) -> list[ClaimValidationRule]:
        found, seen = list[ClaimValidationRule](), set[tuple[str, str]]()
        for index, rule in enumerate(self._entry.claim_rules):
            field = f"{self._path}.claimValidationRules[{index}]"
            if rule.claim and rule.expression:
                self._error(field, rule.claim, "claim and expression can't both be set")
            elif not rule.claim and not rule.expression:
                self.errors.append(required(field, "claim or expression is required"))
            elif rule.claim:
                if rule.message:
                    self._error(f"{field}.message", rule.message, "may not be specified when claim is set")
                self._once(seen, ("claim", rule.claim), f"{field}.claim")
                found.append(ClaimValidationRule(rule.claim, rule.required_value))
            else:
                if rule.required_value:
                    text = "may not be specified when expression is set"
                    self._error(f"{field}.requiredValue", rule.required_value, text)
                if self._once(seen, ("expression", rule.expression), f"{field}.expression"):
                    compiled = self._compiled(rule.expression, f"{field}.expression", condition=True)
                    found.append(ClaimValidationRule(expression=compiled, message=rule.message))
        return found

    def _once(self, seen: set[tuple[str, str]], key: tuple[str, str], field: str) -> bool:
        if key in seen:
            self.errors.append(duplicate(field, key[1]))
            return False
        seen.add(key)
        return True

    def _prefixed(self, source: PrefixedSource, path: str, *, needed: bool) -> ClaimSource:
        if source.claim and source.expression:
            self._error(path, "", "claim and expression can't both be set")
        elif not source.claim and not source.expression:
            if needed:
                self.errors.append(required(path, "claim or expression is required"))
        elif source.expression:
            if source.prefix is not None:
                self._error(f"{path}.prefix", source.prefix, "may not be specified when expression is set")
            if needed:
                self._check_email(source.expression, path)
            return ClaimSource(expression=self._compiled(source.expression, f"{path}.expression", condition=False))
        elif source.prefix is None:
            text = "prefix is required when claim is set. It can be set to an empty string to disable prefixing"
            self.errors.append(required(f"{path}.prefix", text))
        return ClaimSource(source.claim, source.prefix or "")

    def _check_email(self, expression: str, path: str) -> None:
        """Check that an email address used as a name is verified."""
        entry = self._entry
        others = [rule.expression for rule in entry.claim_rules]
        others += [each.expression for each in entry.mappings.extra]
        if _EMAIL.search(expression) and not any(map(_VERIFIED.search, (expression, *others))):
            text = (
                "claims.email_verified must be used in claimMappings.username.expression or "
                "claimMappings.extra[*].valueExpression or claimValidationRules[*].expression "
                "when claims.email is used in claimMappings.username.expression"
            )
            self._error(f"{path}.expression", expression, text)

    def _uid(self, source: PlainSource, path: str) -> ClaimSource:
        if source.claim and source.expression:
            self._error(path, "", "claim and expression can't both be set")
        if source.expression:
            return ClaimSource(expression=self._compiled(source.expression, f"{path}.expression", condition=False))
        return ClaimSource(source.claim)

    def _extra(self, entries: Sequence[ExtraEntry], path: str) -> list[tuple[str, Expression]]:
        found, seen = list[tuple[str, Expression]](), set[tuple[str, str]]()
        for index, entry in enumerate(entries):
            field = f"{path}[{index}]"
            self._check_key(entry.key, f"{field}.key")
            if not self._once(seen, ("key", entry.key), f"{field}.key"):
                continue
            if not entry.expression:
                self.errors.append(required(f"{field}.valueExpression"))
                continue
            compiled = self._compiled(entry.expression, f"{field}.valueExpression", condition=False)
            if compiled is not None:
                found.append((entry.key, compiled))
        return found

    def _check_key(self, key: str, field: str) -> None:
        domain, slash, rest = key.partition("/")
        if not key:
            self.errors.append(required(field))
        elif not slash or not domain or not rest:
            self._error(field, key, 'must be a domain-prefixed path (such as "acme.io/foo")')
        else:
            self.errors += [invalid_value(field, domain, text) for text in dns_subdomain(domain, False)]
            if not _PATH.fullmatch(rest):
                self._error(field, rest, "Invalid path")
        if key != key.lower():
            self._error(field, key, "must be lowercase")
        for reserved in (API_DOMAIN, LABEL_DOMAIN):
            if domain == reserved or domain.endswith(f".{reserved}"):
                text = f"{API_DOMAIN}, {LABEL_DOMAIN} and their subdomains are reserved for Kubernetes use"
                self._error(field, key, text)

    def _user_rules(self) -> list[UserValidationRule]:
        found, seen = list[UserValidationRule](), set[tuple[str, str]]()
        for index, rule in enumerate(self._entry.user_rules):
            field = f"{self._path}.userValidationRules[{index}].expression"
            if not rule.expression:
                self.errors.append(required(field))
            elif self._once(seen, ("expression", rule.expression), field):
                compiled = self._compiled(rule.expression, field, "user", condition=True)
                if compiled is not None:
                    found.append(UserValidationRule(compiled, rule.message))
        return found


class StructuredTokens:
    """Authenticates the tokens of the issuers in a configuration file, which is reloaded."""

    leaves_process: Final = True

    def __init__(self, path: str | Path, clock: Clock, counters: Meter, *, disallowed: Sequence[str] = ()) -> None:
        def made(content: bytes) -> tuple[ProviderTokens, ...]:
            return tuple(tokens_of(issuer, mapping, clock) for issuer, mapping in parse(content, disallowed, str(path)))

        self._file = DynamicFile(path, made, clock, counters, _FAMILY)

    def authenticate(self, credentials: Credentials) -> Identity | None:
        """The identity of a token of any issuer. Raises a 401 StatusError if the token's issuer refuses it."""
        refusal: StatusError | None = None
        for tokens in self._file.current() if credentials.bearer else ():
            try:
                identity = tokens.authenticate(credentials)
            except StatusError as error:
                refusal = error
                continue
            if identity is not None:
                return identity
        if refusal is not None:
            raise refusal
        return None


def tokens_of(issuer: Issuer, mapping: ClaimMapping, clock: Clock) -> ProviderTokens:
    """The authenticator of one issuer."""
    provider = Provider(issuer.url, over_https(issuer.authorities.encode()), clock, discovery_url=issuer.discovery_url)
    return ProviderTokens(provider, issuer.audiences, mapping, clock, algorithms=ALGORITHMS)
