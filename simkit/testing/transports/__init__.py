"""Transports by which client libraries reach a cluster of the same process, without a socket."""

from typing import Final

HOST: Final = "http://simkit.invalid"
"""The address that clients are given; nobody connects to it."""
