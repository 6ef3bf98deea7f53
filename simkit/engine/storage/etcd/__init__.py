"""The store in etcd, in the layout of kube-apiserver: several servers share one etcd."""

from simkit.engine.storage.etcd.store import EtcdStore, open_store

__all__ = ["EtcdStore", "open_store"]
