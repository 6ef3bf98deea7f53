"""Servers over an etcd, and their clients."""

from __future__ import annotations

import ssl

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.authn.token_sources import StaticTokens
from simkit.meta.identity import MASTERS, Identity
from tests.engine.http.echo import Answer, Client

MAPS = "/api/v1/namespaces/default/configmaps"


class Administrator(Client):
    """A client with the token of somebody who may do everything."""

    def __init__(self, url: str) -> None:
        super().__init__(url, ssl._create_unverified_context())

    def ask(self, method: str, target: str, body: bytes | None = None, **headers: str) -> Answer:
        return super().ask(method, target, body, Authorization="Bearer t", **headers)


def cluster(urls: str, prefix: str) -> Cluster:
    """A cluster over the members of an etcd, separated by commas, in which the token ``t`` may do everything."""
    tokens = StaticTokens({"t": Identity("root", (MASTERS,))})
    return Cluster(options=Options(storage=f"etcd:{urls}", etcd_prefix=prefix, authenticators=(tokens,)))
