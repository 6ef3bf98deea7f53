"""Custom resources: the definitions that are served, and how their requests are routed."""
