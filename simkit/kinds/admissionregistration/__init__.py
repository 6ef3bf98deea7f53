"""Webhooks and policies of admission."""
