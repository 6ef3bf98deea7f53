"""Priority and fairness of requests."""
