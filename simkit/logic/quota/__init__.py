"""The usage of resource quotas by objects.

pkg/quota/v1/evaluator/core, release 1.30.
"""
