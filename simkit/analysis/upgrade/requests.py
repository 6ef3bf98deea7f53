"""Callers of what goes: by audit logs, and by the metric of kube-apiserver that counts none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from simkit.analysis.audit_log.requests import RecordedRequest
from simkit.analysis.rbac.subject import text_of_user
from simkit.analysis.upgrade.behaviour.entries import behaviour_entries
from simkit.analysis.upgrade.items import Break
from simkit.analysis.upgrade.removed_resources import RemovedResource, RemovedResources
from simkit.analysis.upgrade.span import ReleaseSpan, kubectl_minor
from simkit.language.yaml.small_files import text_of_file
from simkit.meta.domain import SYSTEM_NAMESPACE
from simkit.meta.errors import SimkitError
from simkit.meta.identity import service_account_user
from simkit.meta.names import GroupVersion
from simkit.schema.releases import minor_of

CALLER: Final = "caller"
NOISE: Final = "caller-that-adapts"
METRIC: Final = "apiserver_requested_deprecated_apis"
_ADAPTING: Final = frozenset(
    service_account_user(SYSTEM_NAMESPACE, name)
    for name in (
        *("generic-garbage-collector", "namespace-controller", "resourcequota-controller"),
        *("storage-version-migrator-controller", "horizontal-pod-autoscaler"),
    )
) | {"system:kube-controller-manager", "system:apiserver"}
"""Users that request whatever discovery lists, and so adapt to the upgrade."""
Metrics = str | Path


@dataclass(slots=True)
class _Caller:
    """The requests of one program for one resource as one user."""

    user: str
    verbs: set[str] = field(default_factory=set)
    codes: set[int] = field(default_factory=set)
    requests: int = 0
    last: str = ""

    def note(self, request: RecordedRequest) -> None:
        self.verbs.add(request.verb)
        self.codes.add(request.code)
        self.requests += 1
        self.last = max(self.last, request.time)

    @property
    def worked(self) -> bool:
        return any(code < 400 for code in self.codes) or not self.codes

    def __str__(self) -> str:
        count = "1 request" if self.requests == 1 else f"{self.requests} requests"
        codes = ", ".join(map(str, sorted(self.codes)))
        return f"{count}: {', '.join(sorted(self.verbs))}; answers {codes}; last {self.last}"


def caller_breaks(requests: Iterable[RecordedRequest], removed: RemovedResources, span: ReleaseSpan) -> Iterator[Break]:
    """A row for every user, program and resource of a version that goes, and for kubectls that are too far away."""
    found: dict[tuple[str, str, str, str, str], _Caller] = {}
    agents: dict[tuple[str, int], int] = {}
    for request in requests:
        minor = kubectl_minor(request.agent)
        if minor is not None:
            key = (request.caller or request.identity.user, minor)
            agents[key] = agents.get(key, 0) + 1
        if removed.resource(request.api_version, request.resource) is not None:
            place = (request.identity.user, request.caller, request.agent, request.api_version, request.resource)
            found.setdefault(place, _Caller(request.identity.user)).note(request)
    for (user, caller, agent, version, resource), asked in sorted(found.items(), key=lambda p: (-p[1].requests, p[0])):
        gone = removed.resource(version, resource)
        if gone is not None:
            yield _row(gone, caller_text(user, caller, agent), asked, span, removed)
    yield from _kubectl(agents, span)


def caller_text(user: str, sender: str, agent: str) -> str:
    """The user of a request with the program, and who sent it if another user did.

    Examples
    --------
    >>> caller_text("ann", "admin", "k9s")
    'user:ann (k9s), sent by user:admin'
    """
    who = f"{text_of_user(user)} ({agent})" if agent else text_of_user(user)
    return f"{who}, sent by {text_of_user(sender)}" if sender and sender != user else who


def _row(gone: RemovedResource, who: str, asked: _Caller, span: ReleaseSpan, removed: RemovedResources) -> Break:
    already = bool(span.start) and not span.meets(gone.since)
    breaks, note = asked.worked and not already, ""
    if asked.user in _ADAPTING:
        breaks, note = False, "; it asks for what discovery lists, and adapts by itself"
    elif already:
        note = f"; {span.start} does not serve it either"
    elif not asked.worked:
        note = "; it never succeeded"
    check = NOISE if asked.user in _ADAPTING else CALLER
    return _gone(gone, removed, "high" if breaks else "info", breaks, check, who, f"{asked}{note}")


def _gone(
    gone: RemovedResource, removed: RemovedResources, severity: str, breaks: bool, check: str, who: str, evidence: str
) -> Break:
    """The row of requests for a resource that goes."""
    what = f"{gone.api_version} {gone.resource}"
    told = f"{what} is not served any more: requests are answered 404"
    instead = removed.instead(gone.api_version, gone.kind)
    place = (instead, gone.source, gone.api_version, gone.kind)
    return Break(gone.since, severity, breaks, check, told, what, who, evidence, *place)


def _kubectl(agents: Mapping[tuple[str, int], int], span: ReleaseSpan) -> Iterator[Break]:
    entry = next(each for each in behaviour_entries() if any(detector.skew == "kubectl" for detector in each.detectors))
    for (user, minor), count in sorted(agents.items()):
        release = next((each for each in span.hops if abs(minor_of(each) - minor) > 1), "") if span.start else ""
        if release:
            who, evidence = f"{text_of_user(user)} (kubectl 1.{minor})", f"requests: {count}"
            yield Break(
                release, entry.severity, entry.breaks, entry.id, f"{entry.title}. {entry.effect}",
                f"kubectl 1.{minor}", who, evidence, entry.remedy, entry.source,
            )  # fmt: skip


def metric_breaks(metrics: Metrics, removed: RemovedResources, span: ReleaseSpan) -> Iterator[Break]:
    """A row for every version that goes and was asked for since the server started, by its metrics.

    Raises
    ------
    SimkitError
        For text that is not in the format of Prometheus.
    """
    samples = list(_samples(metrics))
    counts: dict[tuple[str, str], float] = {}
    for name, labels, value in samples:
        if name == "apiserver_request_total":
            key = (_version(labels), labels.get("resource", ""))
            counts[key] = counts.get(key, 0) + value
    asked = {
        (_version(labels), labels.get("resource", ""))
        for name, labels, value in samples
        if name == METRIC and value > 0
    }
    for version, resource in sorted(asked):
        gone = removed.resource(version, resource)
        if gone is None:
            continue
        count = int(counts.get((version, resource), 0))
        breaks = not span.start or span.meets(gone.since)
        evidence = f"the metric {METRIC}" + (f"; {count} requests since the server started" if count else "")
        severity, who = "medium" if breaks else "info", "not known: an audit log tells"
        yield _gone(gone, removed, severity, breaks, CALLER, who, evidence)


def _version(labels: Mapping[str, str]) -> str:
    return str(GroupVersion(labels.get("group", ""), labels.get("version", "")))


def _samples(metrics: Metrics) -> Iterable[tuple[str, Mapping[str, str], float]]:
    from prometheus_client.parser import text_string_to_metric_families

    is_text = isinstance(metrics, str) and "\n" in metrics
    text = str(metrics) if is_text else text_of_file(metrics)
    try:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                yield sample.name, sample.labels, sample.value
    except (ValueError, KeyError, IndexError) as wrong:
        what = "these" if is_text else f"in {metrics}"
        raise SimkitError(
            f"{what} are no metrics in the text format of Prometheus: {wrong}; `kubectl get --raw /metrics` prints them"
        ) from None
