"""Calls that leave the process: where a service is, and how it is asked."""
