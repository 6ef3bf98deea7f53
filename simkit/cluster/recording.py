"""The audit log of the options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, get_args

from simkit.cluster.options import Options
from simkit.meta.clock import Clock, NameSource
from simkit.meta.errors import SimkitError

if TYPE_CHECKING:
    from simkit.engine.pipeline.audit.auditor import Auditor
    from simkit.engine.pipeline.audit.backends import Backend
    from simkit.engine.pipeline.audit.events import Event
    from simkit.engine.pipeline.audit.policy import Policy
    from simkit.engine.pipeline.metrics.counters import Metrics


def audit_of(options: Options, clock: Clock, metrics: Metrics, *, forked: bool = False) -> Auditor | None:
    """The auditor; None if the options name no policy, in which case kube-apiserver records nothing.

    A fork records in memory alone, so that what is tried there does not reach the file.
    """
    if options.audit_policy is None:
        return None
    from simkit.engine.pipeline.audit.auditor import Auditor
    from simkit.engine.pipeline.audit.backends import MemoryBackend

    sinks: list[Backend] = [MemoryBackend(options.audit_memory)] if options.audit_memory else []
    if not forked:
        sinks += _outside(options)
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


def _outside(options: Options) -> list[Backend]:
    """The file of the log, if there is one."""
    from simkit.engine.pipeline.audit.backends import LogBackend

    if not options.audit_log_path:
        return []
    return [LogBackend(options.audit_log_path, strict=options.audit_log_strict)]


def recorded(audit: Auditor | None) -> list[Event]:
    """The events in memory, oldest first. Raises SimkitError if none are kept there."""
    from simkit.engine.pipeline.audit.backends import MemoryBackend

    for sink in audit.sinks if audit is not None else ():
        if isinstance(sink, MemoryBackend):
            return sink.events
    raise SimkitError("nothing is recorded; make the cluster with Options(audit_policy='Metadata') or a policy file")
