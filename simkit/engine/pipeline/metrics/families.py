"""The metric families that the server keeps, and their stability."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from simkit.meta.errors import SimkitError
from simkit.schema.releases import minor_of

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

# The metric families of counters, gauges and histograms that the server keeps: labels, bounds, levels and releases.
# Upstream: k8s.io/apiserver/pkg/endpoints/metrics, k8s.io/apiserver/pkg/admission/metrics,
# k8s.io/apiserver/pkg/storage,
# k8s.io/apiserver/pkg/cel/metrics and others that register metrics, release 1.36.

Level = Literal["STABLE", "BETA", "ALPHA"]
_GROUPS_TOLD: Final = 34
"""The release since which group and resource are two labels."""
BODY_BYTES: Final = tuple(float(size) for size in range(50_000, 3_100_000, 100_000))
"""Bounds of the sizes of requests' bodies, in bytes."""
_USUAL: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_ADMISSION: Final = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5)
_DOUBLED: Final = tuple(0.001 * 2**step for step in range(15))
SECONDS: Final = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0),
    *(4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0),
)
"""Upper bounds of the buckets of durations of requests, to this server and to etcd."""
_LIFETIMES: Final = (
    *(0.0, 1_800.0, 3_600.0, 7_200.0, 21_600.0, 43_200.0, 86_400.0, 172_800.0, 345_600.0, 604_800.0),
    *(2_592_000.0, 7_776_000.0, 15_552_000.0, 31_104_000.0),
)
_EXPRESSIONS: Final = (5e-07, 0.001, 0.01, 0.1, 1.0)
_LISTED: Final = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0)
_REST_SECONDS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
_REST_BYTES: Final = (64.0, 256.0, 512.0, *(4.0**power for power in range(5, 13)))
_RESOURCE: Final = ("group", "resource")


class Family(NamedTuple):
    """One family: its help text, its labels, and the bounds of a histogram."""

    text: str
    labels: Sequence[str] = ()
    bounds: Sequence[float] = ()
    joined: str = ""
    """The label that told group and resource together up to 1.33, if the family has them."""
    formerly: str = ""
    """The name of the label ``resource`` up to 1.33, where that was another one."""
    level: Level = "ALPHA"
    beta: str = ""
    """The release that made it beta."""
    since: str = ""
    """The first release that has it; empty if all have."""

    def labels_at(self, release: str) -> Sequence[str]:
        """The labels at a release."""
        if self.formerly and minor_of(release) < _GROUPS_TOLD:
            return [self.formerly if label == "resource" else label for label in self.labels]
        if not self.is_joined(release):
            return self.labels
        return [self.joined if label == "resource" else label for label in self.labels if label != "group"]

    def values_at(self, release: str, values: Sequence[str]) -> Sequence[str]:
        """The values of the labels at a release, given those of the present labels."""
        if not self.is_joined(release):
            return values
        told = dict(zip(self.labels, values, strict=True))
        group = told.pop("group")
        told["resource"] += f".{group}" if group else ""
        return list(told.values())

    def is_joined(self, release: str) -> bool:
        """True if a release tells group and resource in one label."""
        return bool(self.joined) and minor_of(release) < _GROUPS_TOLD


_WEBHOOK: Final = ("name", "type", "operation")
_CHECK: Final = ("policy", "policy_binding", "error_type")
_CONDITION: Final = ("name", "kind", "type", "operation")

COUNTERS: Final[Mapping[str, Family]] = {
    "apiserver_request_terminations_total": Family(
        "Requests that were answered by the server itself to protect itself.",
        ("component", "verb", "group", "version", "resource", "subresource", "scope", "code"),
    ),
    "authentication_attempts": Family("Attempts to authenticate by their result.", ("result",)),
    "authenticated_user_requests": Family("Authenticated requests by user.", ("username",)),
    "authorization_attempts_total": Family("Authorization decisions by their result.", ("result",)),
    "apiserver_authorization_decisions_total": Family(
        "Decisions that authorizers made finally, by authorizer and decision.", ("type", "name", "decision")
    ),
    "apiserver_authorization_webhook_evaluations_total": Family("Calls of authorization webhooks.", ("name", "result")),
    "apiserver_authorization_webhook_evaluations_fail_open_total": Family(
        "Calls of authorization webhooks that failed and were passed over.", ("name", "result")
    ),
    "apiserver_authorization_match_condition_evaluation_errors_total": Family(
        "Match conditions of authorizers that could not be evaluated.", ("type", "name")
    ),
    "apiserver_authorization_match_condition_exclusions_total": Family(
        "Requests that match conditions kept from an authorizer.", ("type", "name")
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
    "kubernetes_healthchecks_total": Family("Results of health checks.", ("name", "status", "type"), level="STABLE"),
    "apiserver_admission_webhook_request_total": Family(
        "Calls of admission webhooks by their result.", (*_WEBHOOK, "code", "rejected")
    ),
    "apiserver_admission_webhook_rejection_count": Family(
        "Requests that admission webhooks refused, or for which they could not be called.",
        (*_WEBHOOK, "error_type", "rejection_code"),
    ),
    "apiserver_admission_webhook_fail_open_count": Family(
        "Calls of admission webhooks that failed and were passed over.", ("name", "type")
    ),
    "apiserver_admission_match_condition_evaluation_errors_total": Family(
        "Match conditions of webhooks that could not be evaluated.", _CONDITION, since="1.27"
    ),
    "apiserver_admission_match_condition_exclusions_total": Family(
        "Requests that match conditions kept from webhooks.", _CONDITION, since="1.27"
    ),
    "apiserver_validating_admission_policy_check_total": Family(
        "Checks of validating admission policies that did not pass, by what followed.",
        (*_CHECK, "enforcement_action"),
        beta="1.31",
        since="1.26",
    ),
    "apiserver_mutating_admission_policy_check_total": Family(
        "Mutations of mutating admission policies.", _CHECK, since="1.32"
    ),
    "pod_security_evaluations_total": Family(
        "Evaluations of pod security, by mode and decision.",
        ("decision", "policy_level", "policy_version", "mode", "request_operation", "resource", "subresource"),
    ),
    "pod_security_exemptions_total": Family(
        "Requests that are exempt from pod security.", ("request_operation", "resource", "subresource")
    ),
    "pod_security_errors_total": Family(
        "Errors that kept pod security from its work.", ("fatal", "request_operation", "resource", "subresource")
    ),
    "apiserver_watch_events_total": Family(
        "Events that were sent to watches.", ("group", "version", "resource"), formerly="kind"
    ),
    "apiserver_cache_list_total": Family(
        "Lists that were served from the watch cache.", (*_RESOURCE, "index"), since="1.34"
    ),
    "apiserver_cache_list_fetched_objects_total": Family(
        "Objects that were read from the watch cache for lists.", (*_RESOURCE, "index"), since="1.34"
    ),
    "apiserver_cache_list_returned_objects_total": Family(
        "Objects in lists that were served from the watch cache.", _RESOURCE, since="1.34"
    ),
    "apiserver_storage_list_total": Family("Lists that were served from the store.", _RESOURCE, joined="resource"),
    "apiserver_storage_list_fetched_objects_total": Family(
        "Objects that were read from the store for lists.", _RESOURCE, joined="resource"
    ),
    "apiserver_storage_list_evaluated_objects_total": Family(
        "Objects that selectors were tried on for lists from the store.", _RESOURCE, joined="resource"
    ),
    "apiserver_storage_list_returned_objects_total": Family(
        "Objects in lists that were served from the store.", _RESOURCE, joined="resource"
    ),
    "etcd_requests_total": Family("Requests to etcd.", ("operation", *_RESOURCE), joined="type", since="1.29"),
    "etcd_request_errors_total": Family(
        "Requests to etcd that failed.", ("operation", *_RESOURCE), joined="type", since="1.29"
    ),
    "rest_client_requests_total": Family("Requests to webhooks and other services.", ("code", "method", "host")),
    "serviceaccount_valid_tokens_total": Family("Tokens of service accounts that were accepted."),
    "serviceaccount_stale_tokens_total": Family("Tokens of service accounts that were accepted after their term."),
    "serviceaccount_legacy_tokens_total": Family("Tokens of service accounts from secrets that were accepted."),
    "kube_apiserver_clusterip_allocator_allocation_total": Family(
        "Addresses that were given to services.", ("cidr", "scope"), since="1.25"
    ),
    "kube_apiserver_clusterip_allocator_allocation_errors_total": Family(
        "Addresses that could not be given to services.", ("cidr", "scope"), since="1.25"
    ),
    "kube_apiserver_nodeport_allocator_allocation_total": Family(
        "Ports that were given to services.", ("scope",), since="1.27"
    ),
    "kube_apiserver_nodeport_allocator_allocation_errors_total": Family(
        "Ports that could not be given to services.", ("scope",), since="1.27"
    ),
}
"""Counters: all but those of requests by route."""
UNUSUAL: Final = tuple(name for name in COUNTERS if not name.endswith("_total"))
"""Counters whose names do not end as the library has it: it takes them for values of no type."""

GAUGES: Final[Mapping[str, Family]] = {
    "apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds": Family(
        "When the authorization configuration was last reloaded, by result.", ("apiserver_id_hash", "status")
    ),
    "apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds": Family(
        "When the authentication configuration was last reloaded, by result.", ("apiserver_id_hash", "status")
    ),
}
"""Gauges that are set where something happens."""

HISTOGRAMS: Final[Mapping[str, Family]] = {
    "apiserver_admission_step_admission_duration_seconds": Family(
        "Seconds of all admission plugins of a step.", ("type", "operation", "rejected"), _ADMISSION, level="STABLE"
    ),
    "apiserver_admission_controller_admission_duration_seconds": Family(
        "Seconds of an admission plugin, where it looks at the resource.",
        ("name", "type", "operation", "rejected"),
        _ADMISSION,
        level="STABLE",
    ),
    "apiserver_admission_webhook_admission_duration_seconds": Family(
        "Seconds of a call of an admission webhook.",
        (*_WEBHOOK, "rejected"),
        (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 25.0),
        level="STABLE",
    ),
    "apiserver_admission_match_condition_evaluation_seconds": Family(
        "Seconds of the evaluation of match conditions.",
        _CONDITION,
        (0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25),
        since="1.28",
    ),
    "apiserver_validating_admission_policy_check_duration_seconds": Family(
        "Seconds of checks of validating admission policies that did not pass, by what followed.",
        (*_CHECK, "enforcement_action"),
        _EXPRESSIONS,
        beta="1.31",
        since="1.26",
    ),
    "apiserver_mutating_admission_policy_check_duration_seconds": Family(
        "Seconds of mutations of mutating admission policies.", _CHECK, _EXPRESSIONS, since="1.32"
    ),
    "authentication_duration_seconds": Family("Seconds until it is known who asks.", ("result",), _DOUBLED),
    "authorization_duration_seconds": Family(
        "Seconds until it is known what is allowed.", ("result",), _DOUBLED, since="1.28"
    ),
    "apiserver_client_certificate_expiration_seconds": Family(
        "Seconds until the expiry of clients' certificates.", (), _LIFETIMES
    ),
    "apiserver_watch_events_sizes": Family(
        "Bytes of events that were sent to watches.",
        ("group", "version", "resource"),
        tuple(1024.0 * 2**step for step in range(8)),
        formerly="kind",
    ),
    "apiserver_watch_list_duration_seconds": Family(
        "Seconds until a watch has sent what was there.",
        ("group", "version", "resource", "scope"),
        _LISTED,
        beta="1.36",
        since="1.27",
    ),
    "etcd_request_duration_seconds": Family(
        "Seconds of requests to etcd.", ("operation", *_RESOURCE), SECONDS, joined="type"
    ),
    "rest_client_request_duration_seconds": Family(
        "Seconds of requests to webhooks and other services.", ("verb", "host"), _REST_SECONDS
    ),
    "rest_client_request_size_bytes": Family(
        "Bytes of requests to webhooks and other services.", ("verb", "host"), _REST_BYTES, since="1.27"
    ),
    "rest_client_response_size_bytes": Family(
        "Bytes of the answers of webhooks and other services.", ("verb", "host"), _REST_BYTES, since="1.27"
    ),
    "apiserver_authorization_webhook_duration_seconds": Family(
        "Seconds of calls of authorization webhooks.", ("name", "result"), _USUAL
    ),
    "kube_apiserver_clusterip_allocator_allocation_duration_seconds": Family(
        "Seconds until a service has its address.", ("cidr",), _USUAL, since="1.33"
    ),
}
"""Histograms of what happens, besides those of requests by route."""


BY_RESOURCE: Final = Family("", _RESOURCE, joined="resource")
"""The labels of what is told by resource."""
BODIES: Final = Family("Bytes of the bodies of requests.", (*_RESOURCE, "verb"), BODY_BYTES, joined="resource")
"""The family of the sizes of bodies."""


def bounds_of(family: str) -> Sequence[float]:
    """The upper bounds of the buckets of a histogram."""
    return HISTOGRAMS[family].bounds


# Stability levels of the server's own metrics, and the fate of deprecated ones.
# Upstream: k8s.io/component-base/metrics/options.go, release 1.30.

_LOG: Final = logging.getLogger("simkit.metrics")


class Stability(NamedTuple):
    """The stability level of a metric, the release that deprecates it, and the one that brings it."""

    level: Level
    deprecated: str = ""
    """The first release in which it is deprecated; empty if it is not."""
    since: str = ""
    """The first release that has it; empty if all have."""
    beta: str = ""
    """The release that made it beta."""

    def at(self, release: str) -> Level:
        """The level at a release."""
        return "BETA" if self.beta and minor_of(release) >= minor_of(self.beta) else self.level


_OTHERS: Final = Stability("ALPHA")
STABILITY: Final[Mapping[str, Stability]] = {
    **dict.fromkeys(
        (
            "apiserver_current_inflight_requests",
            "apiserver_longrunning_requests",
            "apiserver_request_duration_seconds",
            "apiserver_request_total",
            "apiserver_requested_deprecated_apis",
            "apiserver_response_sizes",
            "apiserver_storage_objects",
            "kubernetes_healthcheck",
        ),
        Stability("STABLE"),
    ),
    **dict.fromkeys(
        (
            "apiserver_flowcontrol_current_executing_requests",
            "apiserver_flowcontrol_current_executing_seats",
            "apiserver_flowcontrol_current_inqueue_requests",
            "apiserver_flowcontrol_dispatched_requests_total",
            "apiserver_flowcontrol_nominal_limit_seats",
            "apiserver_flowcontrol_rejected_requests_total",
            "apiserver_flowcontrol_request_wait_duration_seconds",
        ),
        Stability("BETA"),
    ),
    "apiserver_request_body_size_bytes": Stability("ALPHA", since="1.27"),
    "apiserver_request_sli_duration_seconds": Stability("ALPHA", since="1.26"),
    "apiserver_resource_objects": Stability("ALPHA", since="1.34"),
    "kubernetes_feature_enabled": Stability("BETA", since="1.26"),
    **dict.fromkeys(
        (
            "workqueue_adds_total",
            "workqueue_depth",
            "workqueue_longest_running_processor_seconds",
            "workqueue_retries_total",
            "workqueue_unfinished_work_seconds",
            "workqueue_work_duration_seconds",
        ),
        Stability("ALPHA", beta="1.36"),
    ),
    "version_info": Stability("ALPHA", since="1.34"),
    "apiserver_watch_cache_events_received_total": Stability("ALPHA", since="1.26"),
    "apiserver_watch_cache_resource_version": Stability("ALPHA", since="1.31"),
    "apiserver_flowcontrol_request_concurrency_in_use": Stability("ALPHA", "1.31"),
    "apiserver_flowcontrol_request_concurrency_limit": Stability("ALPHA", "1.30"),
}
"""Metrics that are not alpha, that are deprecated, or that came with a release; all others are alpha."""


def _kept(name: str) -> Stability:
    """The stability of a family that the metrics keep."""
    family = COUNTERS.get(name) or GAUGES.get(name) or HISTOGRAMS.get(name)
    if family is None:
        return _OTHERS
    return Stability(family.level, since=family.since, beta=family.beta)


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
    from simkit.logic.lifecycle.rules_metrics import description_of, visibility

    for family in families:
        name = f"{family.name}_total" if family.type == "counter" else family.name
        stability = STABILITY.get(name) or _kept(name)
        if stability.since and minor_of(release) < minor_of(stability.since):
            continue
        deprecated = stability.deprecated
        seen = visibility(deprecated, release, show_hidden_for=show_hidden_for)
        if seen in ("hidden", "gone"):
            continue
        if seen == "deprecated":
            family.documentation = description_of(family.documentation, deprecated)
            if name not in told:
                told.add(name)
                _LOG.warning("metric %s is deprecated from %s", name, deprecated)
        family.documentation = f"[{stability.at(release)}] {family.documentation}"
        yield family
