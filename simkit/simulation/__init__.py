"""Nodes that are simulated: a scheduler, kubelets driven by data, and what answers connections to their pods."""
