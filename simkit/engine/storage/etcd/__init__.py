"""The store in etcd, in the layout of kube-apiserver: several servers share one etcd."""

from __future__ import annotations

from pathlib import Path

from simkit.engine.storage.etcd.encryption import read_encryption
from simkit.engine.storage.etcd.endpoints import EtcdEndpoints
from simkit.engine.storage.etcd.layout import Layout
from simkit.engine.storage.etcd.store import EtcdStore, open_store
from simkit.engine.storage.etcd.values import Values
from simkit.schema.catalogue import Catalogue

__all__ = ["EtcdEndpoints", "EtcdStore", "layout", "open_store", "values"]


def layout(endpoints: EtcdEndpoints, catalogue: Catalogue) -> Layout:
    """The keys of all kinds of a release under the prefix of an etcd."""
    return Layout(endpoints.root, (each.storage for each in catalogue.stored()))


def values(catalogue: Catalogue, encryption: str | Path | None = None) -> Values:
    """How objects of a release are written, encrypted as an EncryptionConfiguration file says."""
    return Values(catalogue, read_encryption(encryption) if encryption is not None else None)
