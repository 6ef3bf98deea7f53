"""An operator in kopf, in a thread of the same process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from simkit.cluster.cluster import Cluster
from simkit.meta.identity import Identity
from simkit.testing.transports.loopback import loopback_address


@contextmanager
def running_operator(
    cluster: Cluster, files: Sequence[str | Path], identity: Identity, namespaces: Sequence[str], timeout: float
) -> Iterator[Any]:
    """The running ``kopf.testing.KopfRunner``. Raises what the operator raised, at the end."""
    import kopf
    from kopf.testing import KopfRunner

    address = loopback_address(cluster, identity, controllers=True)
    registry, before = kopf.OperatorRegistry(), kopf.get_default_registry()

    @kopf.on.login(registry=registry)
    def login(**_: Any) -> Any:
        return kopf.ConnectionInfo(server=address.url, scheme="Bearer", token=address.token)

    where = [part for each in namespaces for part in ("--namespace", each)] or ["--all-namespaces"]
    command = ["run", "--standalone", *where, *map(str, files)]
    try:
        with KopfRunner(command, registry=registry, timeout=timeout) as runner:
            yield runner
    finally:
        kopf.set_default_registry(before)
