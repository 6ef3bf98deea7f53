"""Bytes to request and back: the only asynchronous code."""
