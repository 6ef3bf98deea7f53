"""The state of a cluster as kube-apiserver keeps it in etcd: where objects stand, in what form, and backups of it."""
