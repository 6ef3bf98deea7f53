"""Kubelets that are simulated: what they report of nodes, pods and containers, driven by programs and data."""
