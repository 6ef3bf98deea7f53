"""Metrics of admission webhooks: calls, refusals, failures that were passed over, and match conditions.

Upstream: k8s.io/apiserver/pkg/admission/metrics/metrics.go, release 1.36.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Final

from simkit.engine.admission.webhook_client import CallFailed
from simkit.engine.admission.webhook_index import WebhookAccessor
from simkit.engine.admission.webhook_review import Answer, rejection
from simkit.engine.seams import Meter
from simkit.meta.errors import StatusError

_FAMILY: Final = "apiserver_admission_webhook"
_CONDITIONS: Final = "apiserver_admission_match_condition"
_SUCCESS: Final = 200
_HIGHEST: Final = 600
"""Codes above are told as this one."""


class WebhookMeter:
    """Counts the calls of the webhooks of one plugin.

    Parameters
    ----------
    step
        The word for the plugin in metrics: admit or validating.
    """

    def __init__(self, meter: Meter, step: str) -> None:
        self._meter, self._step = meter, step

    def call(self, webhook: WebhookAccessor, operation: str, ask: Callable[[], Answer | None]) -> Answer | None:
        """The answer of a webhook, counted with its seconds; None if it is not called. Raises what ``ask`` raises."""
        began = perf_counter()
        try:
            answer = ask()
        except CallFailed as error:
            if webhook.ignores:
                self._meter.count(f"{_FAMILY}_fail_open_count", webhook.name, self._step)
            self._tell(webhook, operation, began, error.code, "" if webhook.ignores else "calling_webhook_error")
            raise
        except StatusError:
            self._tell(webhook, operation, began, 0, "apiserver_internal_error")
            raise
        if answer is None:
            return None
        code = _SUCCESS if answer.allowed else rejection(webhook.name, answer.status).code
        self._tell(webhook, operation, began, code, "" if answer.allowed else "no_error")
        return answer

    def _tell(self, webhook: WebhookAccessor, operation: str, began: float, code: int, refused: str) -> None:
        meter, labels, shown = self._meter, (webhook.name, self._step, operation), str(min(code, _HIGHEST))
        rejected = "true" if refused else "false"
        if refused:
            meter.count(f"{_FAMILY}_rejection_count", *labels, refused, shown)
        meter.count(f"{_FAMILY}_request_total", *labels, shown, rejected)
        meter.record(f"{_FAMILY}_admission_duration_seconds", *labels, rejected, value=perf_counter() - began)

    def conditions(self, webhook: WebhookAccessor, operation: str, seconds: float, errors: int, holds: bool) -> None:
        """Count an evaluation of match conditions."""
        labels = (webhook.name, "webhook")
        self._meter.record(f"{_CONDITIONS}_evaluation_seconds", *labels, self._step, operation, value=seconds)
        for _ in range(errors):
            self._meter.count(f"{_CONDITIONS}_evaluation_errors_total", *labels, self._step, operation)
        if not holds and (webhook.ignores or not errors):
            step = self._step if self._step == "admit" else "validate"
            self._meter.count(f"{_CONDITIONS}_exclusions_total", *labels, step, operation)
