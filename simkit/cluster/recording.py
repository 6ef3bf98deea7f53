"""The audit log that the options ask for."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from simkit.cluster.options import Options
from simkit.meta.clock import Clock, NameSource
from simkit.meta.errors import SimkitError

if TYPE_CHECKING:
    from simkit.engine.pipeline.audit.auditor import Audit
    from simkit.engine.pipeline.audit.backends import Backend, Sink
    from simkit.engine.pipeline.audit.event_format import Event
    from simkit.engine.pipeline.audit.policy import Policy
    from simkit.engine.pipeline.audit.settings import LogSettings, WebhookSettings
    from simkit.engine.pipeline.metrics.counters import Metrics


def audit_of(options: Options, clock: Clock, metrics: Metrics, *, forked: bool = False) -> Audit | None:
    """The audit log, None where the options name no policy: as on the real server, nothing is recorded then.

    A fork records in memory alone, so that what is tried there reaches neither the file nor the webhook.
    """
    if options.audit_policy is None:
        return None
    from simkit.engine.pipeline.audit.auditor import Audit
    from simkit.engine.pipeline.audit.backends import Memory

    sinks: list[Sink] = [Memory(options.audit_memory)] if options.audit_memory else []
    if not forked:
        sinks += _outside(options, clock, metrics)
    return Audit(_policy(options.audit_policy), sinks, clock, NameSource(options.seed), metrics)


def _policy(given: Policy | str | Path) -> Policy:
    """The policy of a file, or one that records everything at a level."""
    from simkit.engine.pipeline.audit.policy import Level, Policy, everything, load

    if isinstance(given, Policy):
        return given
    for level in get_args(Level):
        if given == level:
            return everything(level)
    return load(given)


def _outside(options: Options, clock: Clock, metrics: Metrics) -> list[Sink]:
    from simkit.engine.egress.call import Caller
    from simkit.engine.egress.kubeconfig import load_kubeconfig
    from simkit.engine.pipeline.audit.backends import Lines, Posts
    from simkit.engine.pipeline.audit.rotating_file import RotatingFile

    found: list[Sink] = []
    log, webhook = options.audit_log, options.audit_webhook
    if options.audit_log_path:
        file = RotatingFile(
            options.audit_log_path,
            clock,
            max_size=log.max_size,
            max_age=log.max_age,
            max_backup=log.max_backup,
            compress=log.compress,
        )
        found.append(_sink("log", Lines(file, log.form), log, metrics))
    if options.audit_webhook_config_file:
        caller = Caller(load_kubeconfig(options.audit_webhook_config_file))
        found.append(_sink("webhook", Posts(caller, backoff=webhook.initial_backoff), webhook, metrics))
    return found


def _sink(name: str, backend: Backend, settings: LogSettings | WebhookSettings, metrics: Metrics) -> Sink:
    """A backend behind the mode and the limits that its settings ask for."""
    from simkit.engine.pipeline.audit.backends import Batched, Direct, Fitting

    fitting = Fitting(backend, settings.truncation) if settings.truncation.enabled else backend
    if settings.mode == "batch":
        return Batched(name, fitting, settings.batching, partial(_lost, metrics, name))
    return Direct(name, fitting, strict=settings.mode == "blocking-strict")


def _lost(metrics: Metrics, name: str, events: int) -> None:
    for _ in range(events):
        metrics.count("apiserver_audit_error_total", name)


def recorded(audit: Audit | None) -> list[Event]:
    """The events in memory, oldest first. Raises SimkitError where none are kept there."""
    from simkit.engine.pipeline.audit.backends import Memory

    for sink in audit.sinks if audit is not None else ():
        if isinstance(sink, Memory):
            return sink.events
    raise SimkitError("nothing is recorded; make the cluster with Options(audit_policy='Metadata') or a policy file")
