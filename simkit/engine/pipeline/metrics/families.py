"""The metric families of the server, and the rules of their stability levels.

Upstream: k8s.io/apiserver/pkg/endpoints/metrics, k8s.io/component-base/metrics/options.go and others that register
metrics, release 1.36.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from simkit.meta.errors import SimkitError
from simkit.schema.releases import minor_of

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

Level = Literal["STABLE", "BETA", "ALPHA"]
SECONDS: Final = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0),
    *(4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0),
)
"""Upper bounds of the buckets of durations of requests."""
ANSWER: Final = ("verb", "group", "version", "resource", "subresource", "scope", "component")
_ROUTE: Final = ("verb", "dry_run", *ANSWER[1:])
_LOG: Final = logging.getLogger("simkit.metrics")


class Family(NamedTuple):
    """One family: its help text, its labels, its stability level, and the releases that have it."""

    text: str
    labels: Sequence[str] = ()
    level: Level = "ALPHA"
    since: str = ""
    """The first release that has it; empty if all have."""
    deprecated: str = ""
    """The first release in which it is deprecated; empty if it is not."""


COUNTERS: Final[Mapping[str, Family]] = {
    "apiserver_request_terminations_total": Family(
        "Requests that were answered by the server itself to protect itself.",
        ("component", "verb", "group", "version", "resource", "subresource", "scope", "code"),
    ),
    "apiserver_authorization_decisions_total": Family(
        "Decisions that authorizers made finally, by authorizer and decision.", ("type", "name", "decision")
    ),
    "apiserver_authorization_config_controller_automatic_reloads_total": Family(
        "Reloads of the authorization configuration by result.", ("apiserver_id_hash", "status")
    ),
    "apiserver_authentication_config_controller_automatic_reloads_total": Family(
        "Reloads of the authentication configuration by result.", ("apiserver_id_hash", "status")
    ),
    "apiserver_audit_event_total": Family("Audit events that were made."),
    "apiserver_audit_level_total": Family("Requests by the audit level that applied.", ("level",)),
    "apiserver_audit_error_total": Family("Audit events that a backend could not take.", ("plugin",)),
}
"""Counters of what happens, besides those of requests by route."""
GAUGES: Final[Mapping[str, Family]] = {
    "apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds": Family(
        "When the authorization configuration was last reloaded, by result.", ("apiserver_id_hash", "status")
    ),
    "apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds": Family(
        "When the authentication configuration was last reloaded, by result.", ("apiserver_id_hash", "status")
    ),
}
"""Gauges that are set where something happens."""
HEALTH_CHECKS: Final = "kubernetes_healthchecks_total"
"""The counter of the page of health indicators."""
FAMILIES: Final[Mapping[str, Family]] = {
    **COUNTERS,
    **GAUGES,
    "apiserver_request_total": Family("Requests by route and code of the answer.", (*_ROUTE, "code"), "STABLE"),
    "apiserver_request_duration_seconds": Family("Seconds until the answer, by route.", _ROUTE, "STABLE"),
    "apiserver_requested_deprecated_apis": Family(
        "Deprecated resources that were asked for, and the release without them.",
        ("group", "version", "resource", "subresource", "removed_release"),
        "STABLE",
    ),
    "apiserver_current_inflight_requests": Family("Requests that are being answered now.", ("request_kind",), "STABLE"),
    "apiserver_longrunning_requests": Family("Requests that last and are under way, by route.", ANSWER, "STABLE"),
    "apiserver_storage_objects": Family("Objects that are stored.", ("resource",), "STABLE"),
    "apiserver_resource_objects": Family("Objects that are stored.", ("group", "resource"), since="1.34"),
    "apiserver_flowcontrol_nominal_limit_seats": Family(
        "Seats that are a level's own part.", ("priority_level",), "BETA"
    ),
    "apiserver_flowcontrol_request_concurrency_limit": Family(
        "The older name of nominal_limit_seats.", ("priority_level",), deprecated="1.30"
    ),
    "kubernetes_feature_enabled": Family(
        "Whether a feature gate is on (1) or not (0).", ("name", "stage"), "BETA", since="1.26"
    ),
    "kubernetes_build_info": Family(
        "The release that is served.",
        ("major", "minor", "git_version", "git_commit", "build_date", "go_version", "platform"),
    ),
    "kubernetes_healthcheck": Family("Whether a health check passes (1) or not (0).", ("name", "type"), "STABLE"),
    HEALTH_CHECKS: Family("Results of health checks.", ("name", "status", "type"), "STABLE"),
}
"""All families of the server."""


def shown_hidden(value: str, release: str) -> str:
    """The value of ``--show-hidden-metrics-for-version``. Raises SimkitError for any but the previous release."""
    before = f"1.{minor_of(release) - 1}"
    if value and value != before:
        text = f"must be omitted or have the value {before!r}: only the previous minor version is allowed"
        raise SimkitError(f"--show-hidden-metrics-for-version {value!r}: {text}")
    return value


def registered(families: Iterable[Metric], release: str, show_hidden_for: str, told: set[str]) -> Iterator[Metric]:
    """The families that a server of a release registers, with their levels in their descriptions.

    Parameters
    ----------
    told
        The names of deprecated metrics that the log has been told of; those that are registered first are added.

    Notes
    -----
    The rules are imported at the first look: a start has no need of them.
    """
    from simkit.logic.lifecycle.rules_elements import description_of, visibility

    for family in families:
        name = f"{family.name}_total" if family.type == "counter" else family.name
        row = FAMILIES[name]
        if row.since and minor_of(release) < minor_of(row.since):
            continue
        seen = visibility(row.deprecated, release, show_hidden_for=show_hidden_for)
        if seen in ("hidden", "gone"):
            continue
        if seen == "deprecated":
            family.documentation = description_of(family.documentation, row.deprecated)
            if name not in told:
                told.add(name)
                _LOG.warning("metric %s is deprecated from %s", name, row.deprecated)
        family.documentation = f"[{row.level}] {family.documentation}"
        yield family
