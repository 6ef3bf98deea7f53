"""The expression language: grammar, types, checking, compilation, cost.

Read in this order: environment (what users call), grammar and tree, check, generate, cost_estimate.

The language is cel-spec's doc/langdef.md as cel-go 0.17 implements it (Kubernetes 1.30), with the libraries of
k8s.io/apiserver/pkg/cel/library.
"""
