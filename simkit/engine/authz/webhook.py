"""The Webhook authorizer, and the conditions under which it is asked."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal

import orjson

from simkit.engine.egress.call import Poster, review_status, status_fields, with_exponential_backoff
from simkit.engine.egress.policy import RememberedAnswers, Unreachable
from simkit.meta.attributes import ALLOW, DENY, NO_OPINION, Attributes, Decision
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import Clock
from simkit.meta.domain import AUTHORIZATION_GROUP
from simkit.meta.fielderror import (
    FieldError,
    aggregate_errors,
    duplicate,
    internal_error,
    invalid_value,
    required,
    too_many,
)
from simkit.meta.go_json import compact
from simkit.meta.identity import Identity
from simkit.meta.objects import null_creation
from simkit.meta.selector_requirements import selectors_to_review
from simkit.meta.user_info import user_fields
from simkit.seams import RuleList

if TYPE_CHECKING:
    from simkit.language.cel.environment import Environment, Program
    from simkit.schema.structural import Schema

# Match conditions of authorization webhooks: CEL expressions that must all be true.
# Upstream: k8s.io/apiserver/pkg/authorization/cel, release 1.30.

MOST: Final = 64
_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_RESOURCE: Final = ("namespace", "verb", "group", "version", "resource", "subresource", "name")
_REQUIREMENT: Final = {"type": "object", "fields": {"key": _TEXT, "operator": _TEXT, "values": _TEXTS}}
_SELECTOR: Final = {
    "type": "object",
    "fields": {"rawSelector": _TEXT, "requirements": {"type": "array", "items": _REQUIREMENT}},
}


def _question(*, selectors: bool) -> Mapping[str, Any]:
    """The schema of the variable ``request``."""
    attributes = {
        **dict.fromkeys(_RESOURCE, _TEXT),
        **({"fieldSelector": _SELECTOR, "labelSelector": _SELECTOR} if selectors else {}),
    }
    fields = {
        "resourceAttributes": {"type": "object", "fields": attributes},
        "nonResourceAttributes": {"type": "object", "fields": {"path": _TEXT, "verb": _TEXT}},
        "user": _TEXT,
        "groups": _TEXTS,
        "extra": {"type": "object", "values": _TEXTS},
        "uid": _TEXT,
    }
    return {"type": "object", "fields": fields}


class ConditionsError(Exception):
    """No condition is false, and some could not be evaluated."""


class MatchConditions:
    """Compiled match conditions."""

    def __init__(self, programs: Sequence[Program]) -> None:
        self._programs = tuple(programs)

    def hold(self, spec: Mapping[str, Any]) -> bool:
        """True if all are true. One that is false decides, whatever the others are; raises ConditionsError."""
        from simkit.language.cel.environment import CALL_LIMIT, BudgetExceeded, EvaluationError

        bindings = {"request": complete(spec)}
        errors = []
        for program in self._programs:
            try:
                if program.evaluate(bindings, budget=CALL_LIMIT).value is not True:
                    return False
            except (EvaluationError, BudgetExceeded) as error:
                errors.append(f"cel evaluation error: expression '{program.source}' resulted in error: {error}")
        if errors:
            raise ConditionsError(aggregate_errors(errors))
        return True


def complete(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The spec of a review with missing texts added, so that conditions may use them."""
    found = {"user": "", "groups": [], "uid": "", "extra": {}, **spec}
    if "resourceAttributes" in spec:
        found["resourceAttributes"] = {**dict.fromkeys(_RESOURCE, ""), **spec["resourceAttributes"]}
    return found


@cache
def environment(behaviour: ServedBehaviour) -> Environment:
    """The environment with the one variable ``request``; made with the first condition."""
    from simkit.language.cel.decl_types import DeclType
    from simkit.language.cel.environment import Environment, own_version
    from simkit.schema.structural import Schema

    question = Schema(_question(selectors=behaviour.applies("authorizers-see-selectors")), _unnamed)
    return Environment(behaviour, {"request": DeclType(question, "request")}, version=own_version(behaviour))


def _unnamed(name: str) -> Schema:
    """The schema of a question refers to no other."""
    raise KeyError(name)


def compiled(
    behaviour: ServedBehaviour, expressions: Sequence[str], path: str
) -> tuple[MatchConditions | None, list[FieldError]]:
    """The compiled conditions, or all errors; None if there are no conditions."""
    from simkit.language.cel.environment import CompileError, InstantiationError, ResultTypeError
    from simkit.language.cel.types import BOOL

    if len(expressions) > MOST:
        return None, [too_many(f"{path}.matchConditions", len(expressions), MOST)]
    programs, errors, seen = [], list[FieldError](), set[str]()
    for index, expression in enumerate(expressions):
        field = f"{path}.matchConditions[{index}].expression"
        if not expression.strip():
            errors.append(required(field))
        elif expression in seen:
            errors.append(duplicate(field, expression))
        else:
            seen.add(expression)
            try:
                programs.append(environment(behaviour).compile(expression, expected=BOOL))
            except ResultTypeError as error:
                errors.append(invalid_value(field, expression, str(error)))
            except InstantiationError as error:
                errors.append(internal_error(field, f"program instantiation failed: {error}"))
            except CompileError as error:
                errors.append(invalid_value(field, expression, f"compilation failed: {error}"))
    return (MatchConditions(programs) if programs else None), errors


# The Webhook authorizer: calls a service with SubjectAccessReviews.
# Upstream: k8s.io/apiserver/plugin/pkg/authorizer/webhook, release 1.30.

_LOG: Final = logging.getLogger("simkit.authz")
_KIND: Final = "SubjectAccessReview"
REMEMBERED: Final = 8192
"""The number of cached answers."""
_LONGEST_KEPT: Final = 10_000
"""The longest question, in characters, whose answer is cached, to limit memory."""
ReviewVersion = Literal["v1", "v1beta1"]
FailurePolicy = Literal["NoOpinion", "Deny"]


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings for calls of a service. Times are in seconds."""

    name: str = "webhook"
    version: ReviewVersion = "v1beta1"
    authorized_ttl: float = 300.0
    unauthorized_ttl: float = 30.0
    failure_policy: FailurePolicy = "NoOpinion"
    backoff: float = 0.5


class WebhookAuthorizer:
    """Calls a service, and caches its answers.

    Parameters
    ----------
    poster
        How the service is reached.
    settings
        Versions, times and what a failure means.
    clock
        On which answers are forgotten.
    conditions
        Without which all questions are asked.
    counters
        Where calls and failures are counted.

    Notes
    -----
    A call keeps its caller waiting, so that the HTTP floor runs requests on worker threads (``leaves_process``).
    """

    leaves_process: Final = True

    def __init__(
        self,
        behaviour: ServedBehaviour,
        poster: Poster,
        settings: Settings,
        clock: Clock,
        *,
        conditions: MatchConditions | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._behaviour, self._poster, self.settings, self._sleep = behaviour, poster, settings, sleep
        self._conditions = conditions
        self._answers = RememberedAnswers[Mapping[str, Any]](clock, REMEMBERED)

    def authorize(self, ask: Attributes) -> Decision:
        """The service's decision; the failure policy's where the call fails or the answer is unusable."""
        spec = spec_of(ask)
        try:
            if self._conditions is not None and not self._conditions.hold(spec):
                return Decision(NO_OPINION)
            status = self._status(spec, ask)
        except ConditionsError as error:
            return self._failed(str(error))
        except Unreachable as error:
            _LOG.warning("the authorization webhook %s failed: %s", self.settings.name, error)
            return self._failed(str(error))
        return _decision(status)

    def _failed(self, why: str) -> Decision:
        denies = self.settings.failure_policy == "Deny"
        return Decision(DENY if denies else NO_OPINION, "", error=why)

    def _status(self, spec: Mapping[str, Any], ask: Attributes) -> Mapping[str, Any]:
        question = compact(orjson.dumps(spec, option=orjson.OPT_SORT_KEYS))
        known = self._answers.get(question)
        if known is not None:
            return known[0]
        status = self._asked(spec)
        if _size(ask) < _LONGEST_KEPT:
            ttl = self.settings.authorized_ttl if status.get("allowed") else self.settings.unauthorized_ttl
            size = len(question) + len(status.get("reason", ""))
            self._answers.keep(question, status, seconds=ttl, size=size)
        return status

    def _asked(self, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        body = orjson.dumps(review_of(self._behaviour, spec, self.settings.version))
        answer = with_exponential_backoff(self._poster, body, backoff=self.settings.backoff, sleep=self._sleep)
        status = review_status(answer, _KIND)
        return status_fields(status, _KIND, allowed=bool, denied=bool, reason=str)

    def rules_for(self, identity: Identity, namespace: str) -> RuleList:
        """No rules: a service cannot list them."""
        return RuleList(incomplete=True, error="webhook authorizer does not support user rule resolution")


def spec_of(ask: Attributes) -> dict[str, Any]:
    """A question as the spec of a review, in version v1."""
    identity = ask.identity
    spec: dict[str, Any] = {}
    if ask.is_resource:
        attributes = {
            "namespace": ask.namespace,
            "verb": ask.verb,
            "group": ask.group,
            "version": ask.version,
            "resource": ask.resource,
            "subresource": ask.subresource,
            "name": ask.name,
        }
        selectors = selectors_to_review(ask.field_selector, ask.label_selector)
        spec["resourceAttributes"] = {**{name: value for name, value in attributes.items() if value}, **selectors}
    else:
        spec["nonResourceAttributes"] = {"path": ask.path, "verb": ask.verb}
    who = user_fields(identity)
    who = {"user": who["username"], "groups": who["groups"], "extra": who["extra"], "uid": who["uid"]}
    return {**spec, **{name: value for name, value in who.items() if value}}


def review_of(behaviour: ServedBehaviour, spec: Mapping[str, Any], version: ReviewVersion) -> dict[str, Any]:
    """The encoded review. Version v1beta1 calls the groups ``group``."""
    if version == "v1beta1":
        spec = {("group" if name == "groups" else name): value for name, value in spec.items()}
    head = {"kind": _KIND, "apiVersion": f"{AUTHORIZATION_GROUP}/{version}"}
    return {**head, "metadata": null_creation(behaviour), "spec": spec, "status": {"allowed": False}}


def _decision(status: Mapping[str, Any]) -> Decision:
    reason = status.get("reason") or ""
    if status.get("denied"):
        both = "webhook subject access review returned both allow and deny response" if status.get("allowed") else ""
        return Decision(DENY, reason, error=both)
    return Decision(ALLOW if status.get("allowed") else NO_OPINION, reason)


def _size(ask: Attributes) -> int:
    """The length of the parts of a question that its sender chose."""
    parts = (ask.namespace, ask.verb, ask.group, ask.version, ask.resource, ask.subresource, ask.name, ask.path)
    return sum(map(len, parts))
