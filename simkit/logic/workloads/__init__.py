"""Pure decisions about workloads that controllers and subresources share.

pkg/controller, release 1.30.
"""
