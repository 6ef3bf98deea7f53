"""ValidatingWebhookConfiguration: webhooks that may refuse."""

from __future__ import annotations

from simkit.kinds.parts.webhook_configuration import (
    default_webhooks,
    prepare_webhooks,
    webhook_faults,
    webhook_row,
    webhooks_differ,
)
from simkit.kinds.rules import KindRules
from simkit.meta.objects import Draft


def _default(draft: Draft) -> None:
    default_webhooks(draft, reinvoked=False)


RULES = KindRules(
    default=_default,
    prepare=prepare_webhooks,
    validate=webhook_faults,
    generation=webhooks_differ,
    row=webhook_row,
    needs_version=True,
)
