"""Ingresses, their classes, network policies."""
