"""Outgoing calls: webhooks, identity providers and aggregated servers, and the policy for them."""
