"""The scheduler: filters and scores of kube-scheduler's default profile, its queue, and preemption."""
