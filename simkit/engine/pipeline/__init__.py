"""The handler chain of requests, and the verbs."""
