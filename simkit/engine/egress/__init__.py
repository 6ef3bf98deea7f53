"""Outgoing calls: webhooks, identity providers and aggregated servers, and whether they may be called."""
