"""The store in etcd, in the layout of kube-apiserver: several servers share one etcd."""

from simkit.engine.storage.etcd.endpoints import EtcdEndpoints
from simkit.engine.storage.etcd.store import EtcdStore, open_store

__all__ = ["EtcdEndpoints", "EtcdStore", "open_store"]
