"""Patches, field sets and field ownership.

The sources are sigs.k8s.io/structured-merge-diff v4.4 and k8s.io/apimachinery/pkg/util/managedfields of release 1.30.
"""
