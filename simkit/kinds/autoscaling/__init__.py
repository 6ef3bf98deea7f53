"""Horizontal autoscalers in two versions."""
