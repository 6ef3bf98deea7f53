"""Pod security: the checks of each level, and the levels that a namespace's labels set.

k8s.io/pod-security-admission, release 1.30; KEP-2579;
https://kubernetes.io/docs/concepts/security/pod-security-standards/.
"""
