"""The client side that controllers, kubelets and the scheduler share: listers, queues, events and leases."""
