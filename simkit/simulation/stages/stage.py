"""Stages: which objects one is for, when it comes, and what it does.

References
----------
sigs.k8s.io/kwok, pkg/apis/v1alpha1/stage_types.go and pkg/utils/lifecycle, release 0.7.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from random import Random
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from simkit.language.cel.environment import OWN_EXPRESSIONS, Environment, Program
from simkit.language.cel.errors import CompileError, EvaluationError
from simkit.language.cel.types import DYN
from simkit.language.cel.values import Duration
from simkit.meta.clock import moment
from simkit.meta.duration import seconds
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupVersionKind
from simkit.meta.objects import Object, annotations_of, labels_of
from simkit.simulation.stages.cel_functions import STAGE_LIBRARY, as_seen
from simkit.simulation.stages.query import Query


class _Part(BaseModel):
    """A part of a stage, in the words of its file; fields that are not known are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Expression(_Part):
    """An expression whose result is a value, in CEL or as a query."""

    class _CEL(_Part):
        expression: str

    cel: _CEL | None = None
    jq: _CEL | None = None
    expression_from: str = Field(default="", alias="expressionFrom")

    def value(self, obj: Object) -> Any:
        """The first result for an object; None if there is none."""
        if self.cel is not None:
            return _evaluated(self.cel.expression, obj)
        text = self.jq.expression if self.jq is not None else self.expression_from
        return next(iter(Query(text).values(obj) or ()), None)


class QueryRequirement(_Part):
    """A requirement on the results of a query."""

    key: str = ""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", ""] = ""
    values: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise SimkitError for a query or values that do not fit the operator."""
        if not self.operator:
            raise SimkitError(f"the expression {self.key!r} has no operator")
        if bool(self.values) is not (self.operator in ("In", "NotIn")):
            raise SimkitError(f"{self.operator} needs {'no' if self.values else 'some'} values")
        Query(self.key)

    def matches(self, obj: Object) -> bool:
        """True if an object has the results."""
        found = Query(self.key).values(obj)
        if self.operator in ("Exists", "DoesNotExist"):
            return bool(found) is (self.operator == "Exists")
        held = any(_compared(each) in self.values for each in found or ())
        return held is (self.operator == "In")


def _compared(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class MatchExpression(QueryRequirement):
    """A requirement as a query, with its operator beside or below it, or as a CEL expression on ``self``."""

    class _CEL(_Part):
        expression: str

    cel: _CEL | None = None
    jq: QueryRequirement | None = None

    def check(self) -> None:
        """Raise SimkitError for an expression that cannot be compiled."""
        if self.cel is not None:
            compiled_expression(self.cel.expression)
        elif self.jq is not None:
            self.jq.check()
        else:
            super().check()

    def matches(self, obj: Object) -> bool:
        """True if an object meets the requirement."""
        if self.cel is not None:
            return _evaluated(self.cel.expression, obj) is True
        return self.jq.matches(obj) if self.jq is not None else super().matches(obj)


@cache
def _environment() -> Environment:
    return Environment({"self": DYN}, version=OWN_EXPRESSIONS, homogeneous=False, libraries=(STAGE_LIBRARY,))


@cache
def compiled_expression(text: str) -> Program:
    """The program of a CEL expression. Raises SimkitError for one that cannot be compiled."""
    try:
        return _environment().compile(text)
    except CompileError as error:
        raise SimkitError(f"the expression {text!r} cannot be compiled: {error}") from error


def _evaluated(text: str, obj: Object) -> Any:
    """The value of an expression; None where it fails, as on a field that is not there."""
    try:
        return compiled_expression(text).evaluate({"self": as_seen(obj)}).value
    except EvaluationError:
        return None


class Selector(_Part):
    """The objects that a stage is for; all requirements count."""

    match_labels: Mapping[str, str] = Field(default_factory=dict, alias="matchLabels")
    match_annotations: Mapping[str, str] = Field(default_factory=dict, alias="matchAnnotations")
    match_expressions: tuple[MatchExpression, ...] = Field(default=(), alias="matchExpressions")

    def matches(self, obj: Object) -> bool:
        """True if an object is meant."""
        return (
            self.match_labels.items() <= labels_of(obj).items()
            and self.match_annotations.items() <= annotations_of(obj).items()
            and all(each.matches(obj) for each in self.match_expressions)
        )


class Delay(_Part):
    """The time until a stage comes."""

    duration: int | None = Field(default=None, alias="durationMilliseconds", ge=0)
    duration_from: Expression | None = Field(default=None, alias="durationFrom")
    jitter: int | None = Field(default=None, alias="jitterDurationMilliseconds", ge=0)
    jitter_from: Expression | None = Field(default=None, alias="jitterDurationFrom")

    def seconds(self, obj: Object, now: float, random: Random) -> float:
        """Seconds from now: between the duration and the jitter, or the jitter where that is shorter."""
        least = _duration(obj, now, self.duration, self.duration_from)
        most = _duration(obj, now, self.jitter, self.jitter_from)
        if least is None or most is None:
            return least or 0.0
        return most if most <= least else least + random.random() * (most - least)


def _duration(obj: Object, now: float, milliseconds: int | None, source: Expression | None) -> float | None:
    fixed = None if milliseconds is None else milliseconds / 1000
    value = source.value(obj) if source is not None else None
    if value is None:
        return fixed
    if isinstance(value, Duration):
        return value.nanos / 1e9
    if not isinstance(value, str):
        return fixed
    for parsed in (lambda text: moment(text) - now, seconds):
        try:
            return float(parsed(value))
        except ValueError:
            continue
    return fixed if value else None


class Impersonation(_Part):
    """The user in whose name a request is made."""

    username: str


class Patch(_Part):
    """A patch whose text is a template."""

    subresource: str = ""
    root: str = ""
    template: str = ""
    type: Literal["json", "merge", "strategic"] | None = None
    impersonation: Impersonation | None = None


class Apply(_Part):
    """Another object that is created, or patched where it exists; its text is a template."""

    template: str
    subresource: str = ""
    type: Literal["apply", "merge", "strategic"] = "apply"
    impersonation: Impersonation | None = None


class Finalizer(_Part):
    """A finalizer."""

    value: str = ""


class Finalizers(_Part):
    """Changes of the finalizers of an object."""

    add: tuple[Finalizer, ...] = ()
    remove: tuple[Finalizer, ...] = ()
    empty: bool = False

    def changed(self, present: Sequence[str]) -> list[str]:
        """The finalizers afterwards.

        Examples
        --------
        >>> Finalizers(add=[{"value": "c"}], remove=[{"value": "a"}]).changed(["a", "b"])
        ['b', 'c']
        """
        removed = {each.value for each in self.remove}
        kept = [] if self.empty else [each for each in present if each not in removed]
        return [*kept, *(each.value for each in self.add if each.value not in kept)]


class StageEvent(_Part):
    """An event about the object."""

    type: str = "Normal"
    reason: str = ""
    message: str = ""


class Step(_Part):
    """One step of a stage."""

    event: StageEvent | None = None
    finalizers: Finalizers | None = None
    delete: bool = False
    patch: Patch | None = None
    apply: Apply | None = None


class Next(_Part):
    """The steps of a stage in the older form."""

    event: StageEvent | None = None
    finalizers: Finalizers | None = None
    delete: bool = False
    patches: tuple[Patch, ...] = ()
    status_template: str = Field(default="", alias="statusTemplate")
    status_subresource: str = Field(default="status", alias="statusSubresource")
    status_patch_as: Impersonation | None = Field(default=None, alias="statusPatchAs")

    def steps(self) -> tuple[Step, ...]:
        """The same as steps: the event, finalizers, patches, and the deletion last."""
        patches = self.patches
        if not patches and self.status_template:
            where, who = self.status_subresource, self.status_patch_as
            patches = (Patch(subresource=where, root="status", template=self.status_template, impersonation=who),)
        found = [Step(event=self.event), Step(finalizers=self.finalizers), *(Step(patch=each) for each in patches)]
        return tuple(each for each in (*found, Step(delete=self.delete)) if each != Step())


class ResourceRef(_Part):
    """The kind of the objects."""

    api_group: str = Field("v1", alias="apiGroup")
    kind: str


class StageSpec(_Part):
    """The content of a stage."""

    resource_ref: ResourceRef = Field(alias="resourceRef")
    selector: Selector | None = None
    weight: int = Field(default=0, ge=0)
    weight_from: Expression | None = Field(default=None, alias="weightFrom")
    delay: Delay = Delay()
    next: Next = Next()
    immediate_next_stage: bool | None = Field(default=None, alias="immediateNextStage")
    steps: tuple[Step, ...] = ()


class Stage(BaseModel):
    """One stage.

    Attributes
    ----------
    name
        Its name.
    spec
        Which objects it is for, when it comes and what it does.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    spec: StageSpec

    @cached_property
    def kind(self) -> GroupVersionKind:
        """The kind of its objects."""
        group, _, version = self.spec.resource_ref.api_group.rpartition("/")
        return GroupVersionKind(group, version, self.spec.resource_ref.kind)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Its steps, in order."""
        return self.spec.steps or self.spec.next.steps()

    def matches(self, obj: Object) -> bool:
        """True if it is for an object. A stage without a selector is for none."""
        return self.spec.selector is not None and self.spec.selector.matches(obj)

    def weight(self, obj: Object) -> int | None:
        """Its weight for an object; None where the expression for it gives no number."""
        value = self.spec.weight_from.value(obj) if self.spec.weight_from is not None else None
        if value is None or isinstance(value, bool):
            return self.spec.weight
        try:
            return int(value, 0) if isinstance(value, str) else math.trunc(value)
        except ValueError:
            return None


def chosen(stages: Sequence[Stage], obj: Object, random: Random) -> Stage | None:
    """The stage that comes next for an object: of several that match, by chance according to their weights."""
    matching = [each for each in stages if each.matches(obj)]
    if len(matching) < 2:
        return matching[0] if matching else None
    weights = [each.weight(obj) for each in matching]
    if any(weights):
        return random.choices(matching, [max(0, weight or 0) for weight in weights])[0]
    weighed = [each for each, weight in zip(matching, weights, strict=True) if weight is not None]
    return random.choice(weighed or matching)
