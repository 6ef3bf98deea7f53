"""Decisions of validating admission policies about a write.

k8s.io/apiserver/pkg/admission/plugin/policy, release 1.30; KEP-3488.
"""
