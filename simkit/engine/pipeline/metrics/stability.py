"""Stability levels of the server's own metrics, and the fate of deprecated ones.

Upstream: k8s.io/component-base/metrics/options.go, release 1.30.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from simkit.engine.pipeline.metrics.families import COUNTERS, GAUGES, HISTOGRAMS, Level
from simkit.meta.errors import SimkitError
from simkit.schema.releases import minor_of

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

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
