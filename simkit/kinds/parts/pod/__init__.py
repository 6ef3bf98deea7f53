"""Pods, and the pod templates that workloads carry: defaults, checks, states."""
