"""A kubectl for clusters in this process, and its magics for notebooks."""
