"""Audit logs of kube-apiserver, read as tables and as recorded requests."""
