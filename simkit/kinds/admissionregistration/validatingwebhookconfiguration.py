"""ValidatingWebhookConfiguration: webhooks that may refuse."""

from __future__ import annotations

from simkit.kinds.parts.webhook_configuration import webhook_rules

RULES = webhook_rules(reinvoked=False)
