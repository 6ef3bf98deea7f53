"""The resource usage of simulated pods and nodes, served as the group ``metrics``."""
