"""Requests of clients in tests: what they were, and faults that they meet."""
