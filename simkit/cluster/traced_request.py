"""One request through the handler chain, with the decision of each stage, as a result for people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.rbac.tables import table
from simkit.analysis.rendering import text_lines
from simkit.analysis.result import InLines
from simkit.cluster.control_plane import ControlPlane
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_info import RequestInfo
from simkit.engine.pipeline.request_trace import Authorization, PluginCall, RequestTrace, trace_request
from simkit.meta.attributes import Evidence
from simkit.meta.identity import MASTERS, Identity
from simkit.meta.message import Request, Response
from simkit.meta.names import Key
from simkit.meta.objects import Object, at
from simkit.meta.visible_text import html_text
from simkit.schema.catalogue import Catalogue
from simkit.seams import Change
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.diff import ABSENT, VOLATILE, FieldChange, field_changes

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS: Final = ("stage", "step", "outcome", "detail")
STAGES: Final = (
    *("request", "authentication", "impersonation", "flow control", "authorization", "mutating admission"),
    *("defaulting and validation", "validating admission", "storage", "watches", "controllers", "answer"),
)
"""The stages in the order in which a request meets them."""
_FILTERS: Final = {
    "parse_request_info": "request",
    "authenticate": "authentication",
    "impersonate": "impersonation",
    "limit_concurrency": "flow control",
    "authorize": "authorization",
    "dispatch_request": "answer",
}
_PHASES: Final = {
    "mutating": "mutating admission",
    "escalation check": "mutating admission",
    "validating": "validating admission",
}
_NOBODY: Final = "(no user name)"
_INVALID: Final = 422
_SHOWN: Final = 25
"""Watches and changes of controllers that are told one by one."""


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step of a stage: its name, how it ended, and details and changed fields."""

    stage: str
    name: str
    outcome: str
    """``passed``, ``changed``, ``refused``, ``allowed``, ``denied``, ``stored``, ``informed``, ``wrote``, failed."""
    detail: tuple[str, ...] = ()
    changes: tuple[FieldChange, ...] = field(default=(), repr=False)

    @property
    def refused(self) -> bool:
        """True if the request ended here."""
        return self.outcome in ("refused", "denied")

    def lines(self) -> tuple[str, ...]:
        """The details and changes as texts."""
        return (*self.detail, *map(str, self.changes))


@dataclass(frozen=True, slots=True, repr=False)
class TracedRequest(InLines):
    """A request with the steps that it took. True if it succeeded."""

    request: Request
    response: Response
    steps: tuple[TraceStep, ...]

    def __bool__(self) -> bool:
        return self.response.succeeded

    @property
    def refused_at(self) -> str:
        """The stage that refused the request; empty if none did."""
        return next((step.stage for step in self.steps if step.refused), "")

    def of(self, stage: str) -> tuple[TraceStep, ...]:
        """The steps of one of ``STAGES``."""
        return tuple(step for step in self.steps if step.stage == stage)

    def to_frame(self) -> DataFrame:
        """One row per step: stage, step, outcome, detail (details and changed fields as a tuple of texts)."""
        return table([(step.stage, step.name, step.outcome, step.lines()) for step in self.steps], COLUMNS)

    def summary(self) -> DataFrame:
        """The number of steps of each stage: what (the stage), count."""
        counts = [(stage, len(self.of(stage))) for stage in STAGES if self.of(stage)]
        return table(counts, ("what", "count"))

    def lines(self) -> Iterator[str]:
        """The request and its steps, line by line."""
        yield f"{self.request.method} {self.request.uri}: {self.response.status}"
        for step in self.steps:
            yield f"  {step.stage}: {step.name}: {step.outcome}"
            yield from (f"      {line}" for line in step.lines())

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html_text(step.stage)}</td><td>{html_text(step.name)}</td><td>{html_text(step.outcome)}</td>"
            f"<td><pre>{html_text(text_lines(step.lines()))}</pre></td></tr>"
            for step in self.steps
        )
        head = html_text(f"{self.request.method} {self.request.uri}: {self.response.status}")
        heads = "".join(f"<th>{name}</th>" for name in COLUMNS)
        return f"<p><b>{head}</b></p><table class='simkit'><tr>{heads}</tr>{rows}</table>"


def traced(made: ControlPlane, request: Request, identity: Identity | None, *, origin: ControlPlane) -> TracedRequest:
    """The request on one control plane, with the watches that its changes reach on the origin of a fork."""
    response, context, trace = trace_request(made.engine, request, identity)
    changes = tuple(trace.changes)
    steps = [*_filters(context, trace, made.snapshot(), made.engine.catalogue), *_admission(trace)]
    steps += _writes("storage", "stored", changes)
    if "dryRun" in request.query:
        steps.append(TraceStep("storage", "dry run", "passed", ("nothing is stored",)))
    steps += _watches(origin, changes)
    steps += _controllers(made, changes)
    steps.append(_answer(response))
    steps.sort(key=lambda step: STAGES.index(step.stage))
    return TracedRequest(request, response, tuple(steps))


def _filters(
    context: RequestContext, trace: RequestTrace, snapshot: Snapshot, catalogue: Catalogue
) -> Iterator[TraceStep]:
    """The steps of the filters up to authorization. What was not reached has no step."""
    for run in trace.filters:
        stage = _FILTERS.get(run.name)
        if stage is None or stage == "answer":
            continue
        asked = [each for each in trace.authorizations if each.filter == run.name]
        if stage == "impersonation" and not asked and not run.error:
            continue
        for each in asked:
            yield _decided(stage, each, snapshot)
        if run.error and not any(not each.decision.allowed for each in asked):
            yield TraceStep(stage, stage, "refused", (f"{run.code}: {run.error}",))
        elif not asked or stage == "impersonation":
            yield TraceStep(stage, *_passed(stage, context, catalogue))


def _passed(stage: str, context: RequestContext, catalogue: Catalogue) -> tuple[str, str, tuple[str, ...]]:
    """Name, outcome and details of a filter that let the request pass."""
    info = context.info
    if stage == "request":
        what = (f"{info.resource}/{info.subresource}" if info.subresource else info.resource) or info.path
        where = f" in {info.namespace}" if info.namespace else ""
        group = f"{info.group or 'core'}/{info.version}" if info.is_resource else "no resource"
        told = (f"API group and version: {group}", *_not_served(info, catalogue))
        return f"{info.verb} {what} {info.name}".strip() + where, "passed", told
    if stage == "flow control":
        headers = dict(context.flow.headers) if context.flow is not None else {}
        return stage, "passed", tuple(f"{name}: {value}" for name, value in headers.items())
    identity = context.identity if stage == "impersonation" else context.caller
    assert identity is not None
    details = [f"group {name}" for name in identity.groups]
    details += [f"{name}: {', '.join(values)}" for name, values in identity.extra.items()]
    return identity.user or _NOBODY, "passed", tuple(details)


def _not_served(info: RequestInfo, catalogue: Catalogue) -> Iterator[str]:
    """A line about a resource that its group version does not have, or about a path that is none of a resource."""
    if not info.is_resource:
        if not any(info.path == path or info.path.startswith(f"{path}/") for path in catalogue.paths):
            yield "nothing is served here; paths of resources begin with /api/v1/ or /apis/GROUP/VERSION/"
        return
    served = [each.resource for each in catalogue.resources(info.group, info.version)]
    if served and info.resource not in served:
        near = get_close_matches(info.resource, served, n=1)
        yield f"there is no resource {info.resource!r}" + (f"; did you mean {near[0]!r}?" if near else "")


def _decided(stage: str, asked: Authorization, snapshot: Snapshot) -> TraceStep:
    ask, decision = asked.ask, asked.decision
    what = ask.resource_path if ask.is_resource else ask.path
    where = f" in {ask.namespace}" if ask.namespace else ""
    name = f"{ask.identity.user or _NOBODY}: {ask.verb} {what} {ask.name}".rstrip() + where
    reason = decision.reason or _unsaid(ask.identity, allowed=decision.allowed)
    rules = tuple(line for each in decision.evidence for line in _evidence(each, snapshot))
    return TraceStep(stage, name, "allowed" if decision.allowed else "denied", (reason, *rules))


def _unsaid(identity: Identity, *, allowed: bool) -> str:
    """Text in place of a reason if the authorizer gives none."""
    if not allowed:
        return "nothing allows it"
    return f"group {MASTERS} can do anything" if MASTERS in identity.groups else "the authorizer gave no reason"


def _evidence(found: Evidence, snapshot: Snapshot) -> Iterator[str]:
    yield f"binding: {_named(found.binding)}"
    role = snapshot.get(found.role.resource, found.role.name, found.role.namespace)
    rules = at(role, "rules") if role is not None else None
    rule = rules[found.rule] if isinstance(rules, Sequence) and found.rule < len(rules) else None
    yield f"role: {_named(found.role)}, rule {found.rule}" + (
        f": {json.dumps(rule, sort_keys=True)}" if rule is not None else ""
    )


def _named(key: Key) -> str:
    return (
        f"{key.resource.resource} {key.namespace}/{key.name}"
        if key.namespace
        else f"{key.resource.resource} {key.name}"
    )


def _admission(trace: RequestTrace) -> Iterator[TraceStep]:
    """The plugins in order, with the kind's own defaulting and validation between mutating and validating ones."""
    yield from map(_called, trace.plugins)
    if trace.unvalidated is None:
        return
    if trace.validated is not None:
        filled = _changed(trace.unvalidated, trace.validated)
        yield TraceStep(
            "defaulting and validation", "strategy of the kind", "changed" if filled else "passed", (), filled
        )
        return
    ended = trace.filters[-1]
    if ended.code == _INVALID:
        yield TraceStep("defaulting and validation", "strategy of the kind", "refused", (ended.error,))


def _called(call: PluginCall) -> TraceStep:
    changed = call.before is not None and call.after is not call.before
    changes = _changed(call.before or {}, call.after or {}) if changed else ()
    detail = [call.refusal] if call.refusal else []
    detail += [f"warns: {text}" for text in call.warnings]
    detail += [f"notes {name}: {text}" for name, text in call.annotations]
    outcome = "refused" if call.refusal else "changed" if changes else "passed"
    return TraceStep(_PHASES[call.phase], call.plugin, outcome, tuple(detail), changes)


def _changed(before: Object, after: Object) -> tuple[FieldChange, ...]:
    """The fields that differ; one that was null and is absent says the same."""
    return tuple(each for each in field_changes(before, after) if not (each.before is None and each.after is ABSENT))


def _writes(stage: str, outcome: str, changes: Sequence[Change]) -> Iterator[TraceStep]:
    """What was written, object by object."""
    for change in changes[:_SHOWN]:
        before = change.previous.object if change.previous is not None and change.type == "MODIFIED" else None
        fields = tuple(field_changes(before, change.entry.object, ignore=VOLATILE)) if before is not None else ()
        told = f"{change.type} at {change.revision}" if outcome == "stored" else change.type
        yield TraceStep(stage, _named(change.entry.key), outcome, (told,), fields)
    if len(changes) > _SHOWN:
        yield TraceStep(stage, f"{len(changes) - _SHOWN:,} more", outcome)


def _watches(origin: ControlPlane, changes: Sequence[Change]) -> Iterator[TraceStep]:
    """The open watches of clients that these changes reach, by user and scope."""
    counts: dict[tuple[str, str], int] = {}
    for change in changes:
        for watcher in origin.engine.watch_cache.informed_of(change):
            scope = f"{watcher.resource.resource} in {watcher.namespace or 'all namespaces'}"
            scope += f", name {watcher.name}" if watcher.name else ""
            user = watcher.reader.user if watcher.reader is not None else "a reader in this process"
            counts[user, scope] = counts.get((user, scope), 0) + 1
    for (user, scope), count in list(counts.items())[:_SHOWN]:
        yield TraceStep("watches", user, "informed", (f"{count} event{'s' * (count > 1)} on a watch of {scope}",))
    if len(counts) > _SHOWN:
        yield TraceStep("watches", f"{len(counts) - _SHOWN:,} more", "informed")


def _controllers(made: ControlPlane, changes: Sequence[Change]) -> Iterator[TraceStep]:
    """The controllers that these changes concern, and on a fork what they all wrote before they came to rest."""
    concerned = dict.fromkeys(name for change in changes for name in made.runner.informed_of(change))
    if concerned:
        yield TraceStep("controllers", ", ".join(concerned), "informed")
    if not changes or not made.forked:
        return
    start = made.store.revision
    made.runner.settle()
    yield from _writes("controllers", "wrote", list(made.store.changes(after=start)))


def _answer(response: Response) -> TraceStep:
    detail: list[str] = []
    if not response.succeeded and response.content_type.startswith("application/json"):
        status: Mapping[str, Any] = response.object or {}
        detail.append(f"{status.get('reason', '')}: {status.get('message', '')}")
    detail += [f"{name}: {value}" for name, value in response.headers if name.lower() == "warning"]
    return TraceStep("answer", f"{response.status}", "passed" if response.succeeded else "failed", tuple(detail))
