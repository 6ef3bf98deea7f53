"""Endpoints are packed anew: every port once for the same addresses."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from simkit.kinds.core.endpoints import repacked

ADDRESSES = st.lists(st.builds(lambda n: {"ip": f"192.0.2.{n}"}, st.integers(1, 4)), max_size=3)
PORTS = st.lists(st.builds(lambda n: {"name": f"p{n}", "port": n}, st.integers(1, 3)), min_size=1, max_size=2)
SUBSETS = st.lists(
    st.builds(lambda a, b, c: {"addresses": a, "notReadyAddresses": b, "ports": c}, ADDRESSES, ADDRESSES, PORTS),
    max_size=3,
)


def reachable(subsets: list[Any]) -> dict[tuple[str, int], bool]:
    """The addresses with their ports, and whether each is ready anywhere."""
    found: dict[tuple[str, int], bool] = {}
    for subset in subsets:
        for port in subset.get("ports") or [{"port": -1}]:
            for side, ready in (("addresses", True), ("notReadyAddresses", False)):
                for one in subset.get(side) or ():
                    key = (one["ip"], port["port"])
                    found[key] = found.get(key, False) or ready
    return found


@given(SUBSETS)
def test_repacking_loses_no_address(subsets: list[Any]) -> None:
    """Packing keeps what is reachable, and packing again changes nothing."""
    packed = repacked(subsets)
    assert reachable(packed) == reachable(subsets)
    assert repacked(packed) == packed


def test_same_addresses_share_their_ports() -> None:
    """Two subsets of the same addresses become one."""
    one = {"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 1}]}
    assert repacked([one, {**one, "ports": [{"port": 2}]}]) == [{**one, "ports": [{"port": 1}, {"port": 2}]}]
