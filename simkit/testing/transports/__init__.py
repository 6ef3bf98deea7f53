"""Transports by which client libraries reach a cluster of the same process, without a socket."""
