"""Client libraries that reach a cluster of the same process without a socket.

Each function takes the cluster, and ``user`` in whose name requests are made that carry no credentials: a text such as
``user:ann``, ``group:devs`` or ``sa:shop/robot``; by default an administrator. After each change the controllers do
their work before the client goes on, unless ``settles=False`` says that the test does that itself. Exec, attach and
port-forward need a server: see the fixture ``kubeconfig``.
"""

from __future__ import annotations

from typing import Any

from simkit.cluster.cluster import Cluster
from simkit.meta.identity import AUTHENTICATED, Identity, administrator, service_account
from simkit.testing.transports.in_process import InProcessServer


def server_for(cluster: Cluster, *, user: str = "", settles: bool = True) -> InProcessServer:
    """The server that transports of client libraries talk to. Raises SimkitError for a text that names no subject."""
    return InProcessServer(cluster, identity_of(user) if user else administrator(), settles)


def identity_of(user: str) -> Identity:
    """The identity that a text names.

    Examples
    --------
    >>> identity_of("sa:shop/robot").user
    'system:serviceaccount:shop:robot'
    """
    from simkit.analysis.rbac.subject import parse_subject

    subject = parse_subject(user)
    if subject.kind == "ServiceAccount":
        return service_account(subject.namespace, subject.name)
    if subject.kind == "Group":
        return Identity("simkit-member", (subject.name, AUTHENTICATED))
    return Identity(subject.name, (AUTHENTICATED,))


def kubernetes_client(cluster: Cluster, *, user: str = "", settles: bool = True) -> Any:
    """An ``ApiClient`` of the official Python client (``kubernetes``)."""
    from simkit.testing.transports.urllib3_pool import api_client

    return api_client(server_for(cluster, user=user, settles=settles))


def pykube_client(cluster: Cluster, *, user: str = "", settles: bool = True) -> Any:
    """An ``HTTPClient`` of pykube-ng."""
    from simkit.testing.transports.requests_adapter import pykube_client as made

    return made(server_for(cluster, user=user, settles=settles))


def requests_session(cluster: Cluster, *, user: str = "", settles: bool = True) -> Any:
    """A ``requests.Session`` that reaches the cluster at ``http://simkit.invalid``."""
    from simkit.testing.transports.requests_adapter import session

    return session(server_for(cluster, user=user, settles=settles))
