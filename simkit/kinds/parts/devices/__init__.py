"""Pieces of the kinds of dynamic resource allocation: requests, names, configurations, and what was allocated.

Follows ``pkg/apis/resource``, release 1.36.
"""
