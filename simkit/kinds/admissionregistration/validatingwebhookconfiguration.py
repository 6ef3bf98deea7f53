"""ValidatingWebhookConfiguration: webhooks that may refuse."""

from __future__ import annotations

from simkit.kinds.parts.admission.webhook_configuration import webhook_rules

STRATEGY = webhook_rules(reinvoked=False)
