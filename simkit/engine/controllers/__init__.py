"""Controllers of kube-controller-manager, and of kube-apiserver itself."""
