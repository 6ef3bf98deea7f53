"""The audit log of the options."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from simkit.cluster.options import Options
from simkit.meta.clock import Clock, NameSource
from simkit.meta.errors import SimkitError

if TYPE_CHECKING:
    from simkit.engine.pipeline.audit.auditor import Auditor
    from simkit.engine.pipeline.audit.backends import Backend, EventWriter
    from simkit.engine.pipeline.audit.events import Event
    from simkit.engine.pipeline.audit.policy import Policy
    from simkit.engine.pipeline.audit.settings import LogSettings, WebhookSettings
    from simkit.engine.pipeline.metrics.counters import Metrics


def audit_of(options: Options, clock: Clock, metrics: Metrics, *, forked: bool = False) -> Auditor | None:
    """The auditor; None if the options name no policy, in which case kube-apiserver records nothing.

    A fork records in memory alone, so that what is tried there reaches neither the file nor the webhook.
    """
    if options.audit_policy is None:
        return None
    from simkit.engine.pipeline.audit.auditor import Auditor
    from simkit.engine.pipeline.audit.backends import MemoryBackend

    sinks: list[Backend] = [MemoryBackend(options.audit_memory)] if options.audit_memory else []
    if not forked:
        sinks += _outside(options, metrics)
    return Auditor(_policy(options.audit_policy), sinks, clock, NameSource(options.seed), metrics)


def _policy(given: Policy | str | Path) -> Policy:
    """The policy in a file, or one that records everything at a level."""
    from simkit.engine.pipeline.audit.policy import Level, Policy, everything, load

    if isinstance(given, Policy):
        return given
    for level in get_args(Level):
        if given == level:
            return everything(level)
    return load(given)


def _outside(options: Options, metrics: Metrics) -> list[Backend]:
    from simkit.engine.egress.call import Caller
    from simkit.engine.egress.files import load_kubeconfig
    from simkit.engine.pipeline.audit.backends import LogWriter, WebhookWriter

    found: list[Backend] = []
    log, webhook = options.audit_log, options.audit_webhook
    if options.audit_log_path:
        found.append(_sink("log", LogWriter(options.audit_log_path), log, metrics))
    if options.audit_webhook_config_file:
        caller = Caller(load_kubeconfig(options.audit_webhook_config_file))
        found.append(_sink("webhook", WebhookWriter(caller, backoff=webhook.initial_backoff), webhook, metrics))
    return found


def _sink(name: str, backend: EventWriter, settings: LogSettings | WebhookSettings, metrics: Metrics) -> Backend:
    """A backend with the mode and the limits of its settings."""
    from simkit.engine.pipeline.audit.backends import BatchingBackend, BlockingBackend

    if settings.mode == "batch":
        return BatchingBackend(name, backend, settings.batching, partial(_lost, metrics, name))
    return BlockingBackend(name, backend, strict=settings.mode == "blocking-strict")


def _lost(metrics: Metrics, name: str, events: int) -> None:
    for _ in range(events):
        metrics.count("apiserver_audit_error_total", name)


def recorded(audit: Auditor | None) -> list[Event]:
    """The events in memory, oldest first. Raises SimkitError if none are kept there."""
    from simkit.engine.pipeline.audit.backends import MemoryBackend

    for sink in audit.sinks if audit is not None else ():
        if isinstance(sink, MemoryBackend):
            return sink.events
    raise SimkitError("nothing is recorded; make the cluster with Options(audit_policy='Metadata') or a policy file")
