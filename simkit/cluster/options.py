"""How a server is set up: what the flags of ``simkit serve`` and the arguments of ``Cluster`` say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from simkit.engine.seams import Authenticator
from simkit.meta.clock import Clock

LATEST = "1.30"


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of one server. Names follow the real server's flags."""

    release: str = LATEST
    storage: str = "memory"
    """``memory``, or ``sqlite:PATH`` for a file that outlasts the process."""
    clock: Clock | None = None
    """None: the machine's."""
    seed: int | None = None
    """For uids and generated names that repeat."""
    authorization_mode: Sequence[str] = ("RBAC",)
    anonymous_auth: bool = True
    authenticators: Sequence[Authenticator] = ()
    """Asked in order; none are needed in process, where the caller says who it is."""
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    runtime_config: Mapping[str, bool] = field(default_factory=dict)
    enable_admission_plugins: Sequence[str] = ()
    disable_admission_plugins: Sequence[str] = ()
    controllers: Sequence[str] = ("*",)
    service_cluster_ip_range: str = "10.96.0.0/16"
    """Addresses of Services: one range, or one of each family with a comma between them."""
    service_node_port_range: tuple[int, int] = (30000, 32767)
    """Ports of Services on nodes, both ends included."""
