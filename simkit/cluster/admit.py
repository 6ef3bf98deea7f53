"""The effect of admission on an object, plugin by plugin; nothing is stored or charged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from textwrap import dedent
from typing import TYPE_CHECKING, Final

from simkit.analysis.rbac.tables import table
from simkit.analysis.result import Result
from simkit.cluster.control_plane import ControlPlane
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.pipeline.verbs.request_object import default
from simkit.engine.registry.allocation import ServiceAllocation
from simkit.engine.registry.write import Write
from simkit.meta.clock import NameSource
from simkit.meta.errors import SimkitError, StatusError
from simkit.meta.identity import Identity
from simkit.meta.objects import Draft, Object, metadata, name_of, namespace_of
from simkit.meta.visible_text import html_text
from simkit.schema.decoding import DecodeError, decode
from simkit.seams import Mutator, Plugin, Review, Validator
from simkit.snapshot.diff import FieldChange, field_changes

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS: Final = ("plugin", "refusal", "changes", "warnings", "notes")
DEFAULTS: Final = "defaults"
"""The name of the step of the kind's own defaulting, before any plugin."""
VALIDATION: Final = "validation"
"""The name of the step of the server's own checks, between mutating and validating plugins."""


@dataclass(frozen=True, slots=True)
class Step:
    """The effect of one plugin: its changes, warnings and audit annotations, and the reason of its refusal."""

    plugin: str
    changes: tuple[FieldChange, ...] = ()
    refusal: str = ""
    warnings: tuple[str, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def silent(self) -> bool:
        """True if the plugin had nothing to say."""
        return not (self.changes or self.refusal or self.warnings or self.notes)

    def __str__(self) -> str:
        lines = [f"{self.plugin}: {self.refusal}" if self.refusal else self.plugin]
        lines += [f"    {change}" for change in self.changes]
        lines += [f"    warns: {text}" for text in self.warnings]
        return "\n".join([*lines, *(f"    notes {name}: {text}" for name, text in self.notes.items())])


@dataclass(frozen=True, slots=True)
class Admitted(Result):
    """The steps of an object through admission. True if none refuses it; ``object`` is what would be stored."""

    object: Object
    operation: str
    steps: tuple[Step, ...]

    def __bool__(self) -> bool:
        return not self.refusals

    @property
    def refusals(self) -> tuple[str, ...]:
        """The reasons of all refusals; a server stops at the first one."""
        return tuple(step.refusal for step in self.steps if step.refusal)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings that the client would get."""
        return tuple(text for step in self.steps for text in step.warnings)

    def to_frame(self) -> DataFrame:
        """One row per step with an effect: plugin, refusal, changes, warnings, notes (tuples of texts)."""
        rows = [
            (
                *(step.plugin, step.refusal, tuple(map(str, step.changes)), step.warnings),
                tuple(f"{name}: {text}" for name, text in step.notes.items()),
            )
            for step in self.steps
            if not step.silent
        ]
        return table(rows, COLUMNS)

    def summary(self) -> DataFrame:
        """The numbers of messages: what, count."""
        changes = sum(len(step.changes) for step in self.steps)
        notes = sum(len(step.notes) for step in self.steps)
        counts = (("plugins asked", len(self.steps)), ("changes", changes), ("refusals", len(self.refusals)))
        return table((*counts, ("warnings", len(self.warnings)), ("notes", notes)), ("what", "count"))

    def __repr__(self) -> str:
        verdict = "refused" if self.refusals else "admitted"
        heading = f"<{self.operation} of {self.object.get('kind', '')} {name_of(self.object)}: {verdict}"
        return "\n".join([heading, *(str(step) for step in self.steps if not step.silent)]) + ">"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr>{_CELL}{html_text(step.plugin)}</td>{_CELL}<pre {_PLAIN}>{html_text(_said(step))}</pre></td></tr>"
            for step in self.steps
            if not step.silent
        )
        verdict = "refused" if self.refusals else "admitted"
        heads = "".join(f'<th style="text-align:left">{word}</th>' for word in ("plugin", verdict))
        return f"<table><tr>{heads}</tr>{rows}</table>"


_CELL: Final = '<td style="text-align:left;vertical-align:top">'
_PLAIN: Final = 'style="margin:0;background:none;text-align:left;white-space:pre-wrap"'
"""Notebooks align cells of tables to the right, which is for numbers."""


def _said(step: Step) -> str:
    return dedent(str(step).partition("\n")[2]) or step.refusal


def admit(made: ControlPlane, obj: Object, identity: Identity) -> Admitted:
    """The changes and messages of each plugin for a write of the object by this identity.

    An object that is there already is updated, else created. All plugins are asked, also after one has refused.
    Raises SimkitError for an object that is none of the kinds that are served.
    """
    scope = _served(made, obj)
    draft = _decoded(scope, obj)
    before = {**draft, "metadata": dict(draft["metadata"])}
    wanted = scope.to_storage(default(scope, draft))
    filled = tuple(field_changes(before, wanted))
    steps = [Step(DEFAULTS, filled)] if filled else []
    review = _review(made, scope, wanted, identity)
    mutators, validators = _parts(made, review)
    for mutator in mutators:
        step, review = _mutated(mutator, review)
        steps.append(step)
    if review.reinvocation.should_reinvoke:
        review.reinvocation.is_reinvoke = True
        for mutator in mutators:
            step, review = _mutated(mutator, review)
            steps += [step] if step.changes or step.refusal else []
    steps.append(_validated(made, scope, review))
    steps += [_judged(validator, review) for validator in validators]
    return Admitted(review.object or {}, review.operation, tuple(steps))


def _served(made: ControlPlane, obj: Object) -> RequestScope:
    return made.engine.request_scope(made.engine.catalogue.resource_of(obj))


def _decoded(scope: RequestScope, obj: Object) -> Draft:
    try:
        draft: Draft = dict(decode(scope.behaviour, dict(obj), scope.schema).object)
    except DecodeError as error:
        raise SimkitError(f"the object cannot be read as a {scope.resource.kind}: {error}") from None
    draft |= {"apiVersion": scope.resource.api_version, "kind": scope.resource.kind}
    draft["metadata"] = dict(draft.get("metadata") or {})
    if scope.resource.namespaced:
        draft["metadata"].setdefault("namespace", "default")
    return draft


def _review(made: ControlPlane, scope: RequestScope, wanted: Draft, identity: Identity) -> Review:
    key = scope.registry_scope.key(namespace_of(wanted), name_of(wanted))
    live = made.store.get(key) if name_of(wanted) else None
    old = live.object if live is not None else None
    if old is not None:
        kept = {name: value for name, value in metadata(old).items() if name not in ("labels", "annotations")}
        wanted = {**wanted, "metadata": {**kept, **wanted["metadata"]}}
        if scope.registry_scope.has_status and "status" in old:
            wanted["status"] = old["status"]
    return Review(
        scope.catalogue.behaviour,
        identity,
        "CREATE" if old is None else "UPDATE",
        scope.registry_scope.resource,
        scope.resource.version,
        "",
        scope.resource.gvk,
        namespace_of(wanted),
        name_of(wanted),
        wanted,
        old,
        dry_run=True,
    )


def _parts(made: ControlPlane, review: Review) -> tuple[Sequence[Plugin], Sequence[Plugin]]:
    plugins = made.engine.admission.concerned(review.operation, review.resource)
    mutators = [plugin for plugin in plugins if isinstance(plugin, Mutator)]
    return mutators, [plugin for plugin in plugins if isinstance(plugin, Validator)]


def _mutated(plugin: Plugin, review: Review) -> tuple[Step, Review]:
    assert isinstance(plugin, Mutator)
    own = replace(review, warnings=[], annotations={})
    try:
        obj = plugin.mutate(own)
    except StatusError as error:
        return Step(plugin.name, (), error.message, tuple(own.warnings), own.annotations), review
    changes = tuple(field_changes(review.object, obj)) if obj is not review.object else ()
    return Step(plugin.name, changes, "", tuple(own.warnings), own.annotations), review.with_object(obj)


def _validated(made: ControlPlane, scope: RequestScope, review: Review) -> Step:
    """The step of the server's own checks of name, metadata and fields: those of a dry run, with chance of its own."""
    engine = made.engine
    registry, chance = copy(engine.registry), NameSource(0)
    registry.name_source = chance
    registry.allocation = ServiceAllocation(engine.store, chance, engine.behaviour)
    key = scope.registry_scope.key(review.namespace, review.name)
    wanted = review.object or {}
    write = Write(scope.registry_scope, key, lambda _live: dict(wanted), dry_run=True, identity=review.identity)
    try:
        (registry.create if review.old is None else registry.update)(write)
    except StatusError as error:
        return Step(VALIDATION, (), error.message)
    return Step(VALIDATION)


def _judged(plugin: Plugin, review: Review) -> Step:
    assert isinstance(plugin, Validator)
    own = replace(review, warnings=[], annotations={})
    try:
        plugin.validate(own)
    except StatusError as error:
        return Step(plugin.name, (), error.message, tuple(own.warnings), own.annotations)
    return Step(plugin.name, (), "", tuple(own.warnings), own.annotations)
