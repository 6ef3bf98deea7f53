"""Pods and the pod templates of workloads: defaulting, validation, status, warnings, printing."""
