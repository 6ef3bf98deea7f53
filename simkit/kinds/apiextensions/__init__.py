"""Strategies of CustomResourceDefinition and of custom resources."""
