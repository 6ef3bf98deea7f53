"""Answers of simulated kubelets to log, exec, attach and portforward."""

from simkit.simulation.connections.kubelet_connections import KubeletConnections

__all__ = ["KubeletConnections"]
