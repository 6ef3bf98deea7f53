"""Checks of how users of OpenShift log in: the first administrator, and identity providers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from simkit.analysis.escalation.table.severity import Severity
from simkit.analysis.findings.check import Check, Finding, described_check
from simkit.analysis.findings.survey import Survey
from simkit.logic.rbac.binding import USER, Subject
from simkit.meta.domain import SYSTEM_NAMESPACE
from simkit.meta.names import GroupResource
from simkit.meta.objects import at
from simkit.seams.authorization import OPENSHIFT
from simkit.snapshot.openshift import FIRST_ADMINISTRATOR

OAUTH: Final = GroupResource("config.openshift.io", "oauths")
_URLS: Final = (("basicAuth", "url"), ("keystone", "url"))
IDENTITIES: Final = GroupResource("user.openshift.io", "identities")


def first_administrator(survey: Survey, check: Check) -> Iterator[Finding]:
    """The user whom the installer makes, as long as its secret is there."""
    access = survey.snapshot.authorization.access
    if access is not None and FIRST_ADMINISTRATOR in access.entries:
        who = Subject(USER, FIRST_ADMINISTRATOR.name)
        yield check.finding(
            f"{FIRST_ADMINISTRATOR.name} can log in: the secret kubeadmin in {SYSTEM_NAMESPACE} is there.",
            subjects=(who,),
            command=f"kubectl delete secret kubeadmin --namespace {SYSTEM_NAMESPACE}",
        )


def identity_providers(survey: Survey, check: Check) -> Iterator[Finding]:
    """Providers that give users of one another away, or passwords; with the number of known users of each."""
    snapshot = survey.snapshot
    if OAUTH not in snapshot.captured() or snapshot.authorization.provider != OPENSHIFT:
        return
    providers: list[Any] = []
    for oauth in snapshot.scan(OAUTH):
        listed = at(oauth, "spec", "identityProviders") if isinstance(oauth.get("spec") or {}, Mapping) else 0
        providers += listed if isinstance(listed, list) else [] if listed is None else [None]
    unread = sum(not _is_readable(one) for one in providers)
    if unread:
        told = f"Whether identity providers can be misused is not known: {unread:,} could not be read."
        yield check.finding(told, severity=Severity.MEDIUM)
    identities = snapshot.scan(IDENTITIES) if IDENTITIES in snapshot.captured() else ()
    counts = Counter(str(identity.get("providerName") or "") for identity in identities)
    for provider in (one for one in providers if isinstance(one, Mapping)):
        for why in _weaknesses(provider, len(providers)):
            name = str(provider.get("name") or "")
            users = f", by which {counts[name]:,} identities are known," if counts[name] else ""
            yield check.finding(f"The identity provider {name!r} ({provider.get('type')}){users} {why}.")


def _is_readable(value: Any) -> bool:
    """True for a provider whose fields have the types that OpenShift documents, as far as they are read."""
    if not isinstance(value, Mapping):
        return False
    texts = (*(value.get(name) for name in ("name", "type", "mappingMethod")), *(at(value, *path) for path in _URLS))
    parts = [value.get(name) for name in ("ldap", "basicAuth", "keystone")]
    return (
        all(one is None or isinstance(one, str) for one in texts)
        and all(one is None or isinstance(one, Mapping) for one in parts)
        and isinstance(at(value, "ldap", "insecure"), bool | None)
    )


def _weaknesses(provider: Mapping[str, Any], count: int) -> Iterator[str]:
    if provider.get("mappingMethod") == "add" and count > 1:
        yield "maps its identities to users that other providers have made"
    if at(provider, "ldap", "insecure") is True:
        yield "asks LDAP without TLS"
    if any(str(at(provider, *path)).startswith("http://") for path in _URLS):
        yield "sends passwords without TLS"


OPENSHIFT_CHECKS: Final = (
    described_check("first-administrator", first_administrator, ()),
    described_check("identity-provider", identity_providers, ()),
)
"""The checks, in the order of a report."""
