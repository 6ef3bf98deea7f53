"""The Webhook authorizer: calls a service with SubjectAccessReviews.

Upstream: k8s.io/apiserver/plugin/pkg/authorizer/webhook, release 1.30.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final, Literal, Protocol

import orjson

from simkit.engine.authz.match_conditions import ConditionsError
from simkit.engine.egress.call import CallFailed, Poster, review_status, status_fields, with_exponential_backoff
from simkit.engine.egress.remembered_answers import RememberedAnswers
from simkit.engine.seams import Meter, RuleList
from simkit.meta.attributes import ALLOW, DENY, NO_OPINION, Attributes, Decision
from simkit.meta.clock import Clock
from simkit.meta.domain import AUTHORIZATION_GROUP
from simkit.meta.go_json import compact
from simkit.meta.identity import Identity
from simkit.meta.objects import null_creation
from simkit.meta.selector_requirements import selectors_to_review
from simkit.meta.user_info import user_fields

_LOG: Final = logging.getLogger("simkit.authz")
_KIND: Final = "SubjectAccessReview"
_DURATION: Final = "apiserver_authorization_webhook_duration_seconds"
REMEMBERED: Final = 8192
"""The number of cached answers."""
_LONGEST_KEPT: Final = 10_000
"""The longest question, in characters, whose answer is cached, to limit memory."""
ReviewVersion = Literal["v1", "v1beta1"]
FailurePolicy = Literal["NoOpinion", "Deny"]


class Conditions(Protocol):
    """A predicate for requests for which the service is called. Raises ConditionsError if it cannot be evaluated."""

    def hold(self, spec: Mapping[str, Any]) -> bool: ...


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
        poster: Poster,
        settings: Settings,
        clock: Clock,
        *,
        conditions: Conditions | None = None,
        counters: Meter | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._poster, self.settings, self._sleep = poster, settings, sleep
        self._conditions, self._counters = conditions, counters
        self._answers = RememberedAnswers[Mapping[str, Any]](clock, REMEMBERED)

    def authorize(self, ask: Attributes) -> Decision:
        """The service's decision; the failure policy's where the call fails or the answer is unusable."""
        spec = spec_of(ask)
        try:
            if self._conditions is not None and not self._conditions.hold(spec):
                self._count("apiserver_authorization_match_condition_exclusions_total", "Webhook", self.settings.name)
                return Decision(NO_OPINION)
            status = self._status(spec, ask)
        except ConditionsError as error:
            self._count(
                "apiserver_authorization_match_condition_evaluation_errors_total", "Webhook", self.settings.name
            )
            return self._failed(str(error))
        except CallFailed as error:
            _LOG.warning("the authorization webhook %s failed: %s", self.settings.name, error)
            self._count_call(_failure(error))
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
        self._count_call("success")
        if _size(ask) < _LONGEST_KEPT:
            ttl = self.settings.authorized_ttl if status.get("allowed") else self.settings.unauthorized_ttl
            size = len(question) + len(status.get("reason", ""))
            self._answers.keep(question, status, seconds=ttl, size=size)
        return status

    def _asked(self, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        body = orjson.dumps(review_of(spec, self.settings.version))
        began = perf_counter()
        try:
            answer = with_exponential_backoff(self._poster, body, backoff=self.settings.backoff, sleep=self._sleep)
        except CallFailed as error:
            self._time_call(_failure(error), began)
            raise
        self._time_call("success", began)
        status = review_status(answer, _KIND)
        return status_fields(status, _KIND, allowed=bool, denied=bool, reason=str)

    def rules_for(self, identity: Identity, namespace: str) -> RuleList:
        """No rules: a service cannot list them."""
        return RuleList(incomplete=True, error="webhook authorizer does not support user rule resolution")

    def _count(self, family: str, *labels: str) -> None:
        if self._counters is not None:
            self._counters.count(family, *labels)

    def _time_call(self, result: str, began: float) -> None:
        if self._counters is not None:
            seconds = perf_counter() - began
            self._counters.record(_DURATION, self.settings.name, result, value=seconds)

    def _count_call(self, result: str) -> None:
        self._count("apiserver_authorization_webhook_evaluations_total", self.settings.name, result)
        if result != "success" and self.settings.failure_policy == "NoOpinion":
            self._count("apiserver_authorization_webhook_evaluations_fail_open_total", self.settings.name, result)


def _failure(error: CallFailed) -> str:
    """The result of a call without an answer."""
    return "timeout" if "deadline" in str(error) else "error"


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


def review_of(spec: Mapping[str, Any], version: ReviewVersion) -> dict[str, Any]:
    """The encoded review. Version v1beta1 calls the groups ``group``."""
    if version == "v1beta1":
        spec = {("group" if name == "groups" else name): value for name, value in spec.items()}
    head = {"kind": _KIND, "apiVersion": f"{AUTHORIZATION_GROUP}/{version}"}
    return {**head, "metadata": null_creation(), "spec": spec, "status": {"allowed": False}}


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
