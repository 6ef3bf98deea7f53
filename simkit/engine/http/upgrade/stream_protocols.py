"""Names of the protocols that clients offer for the streams of commands and ports.

Upstream: k8s.io/apimachinery/pkg/util/remotecommand/constants.go and
k8s.io/apimachinery/pkg/util/portforward/constants.go, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.meta.domain import api_group

PORT_FORWARD: Final = api_group("portforward")
"""Streams of ports, in its only version."""


def channel(version: str = "") -> str:
    """The protocol for streams of a command in some version; without one, the first.

    Examples
    --------
    >>> channel("v4"), channel()
    ('v4.channel.k8s.io', 'channel.k8s.io')
    """
    return api_group(f"{version}.channel" if version else "channel")
