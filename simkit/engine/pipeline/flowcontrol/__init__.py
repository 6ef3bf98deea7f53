"""Priority and fairness: the order of requests under load."""
