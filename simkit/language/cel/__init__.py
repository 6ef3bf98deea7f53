"""The expression language: grammar, types, checking, compilation, cost.

Read in this order: environment (what users call), grammar and tree, check, generate, cost_estimate.
"""
