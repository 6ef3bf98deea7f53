"""Commands about the network interfaces of a container: ``ip``, ``ifconfig``, ``route``, ``ss`` and ``netstat``.

A container has a loopback interface, and ``eth0`` with the addresses of its pod. What they have sent is not counted.

References
----------
ip(8) and ss(8) of iproute2 6.1; ifconfig, route and netstat of busybox 1.36.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from ipaddress import IPv4Interface, IPv6Interface, ip_interface
from typing import Any, Final, NamedTuple

from simkit.simulation.shell.effects import error, line
from simkit.simulation.shell.machine import Machine, Run
from simkit.simulation.shell.option_words import Given, Syntax

_PREFIXES: Final = {4: 24, 6: 64}
"""The lengths of the ranges that nodes have for their pods."""
_OBJECTS: Final = ("address", "link", "route", "neighbour", "neighbor", "rule", "netns", "maddress")
_SHOWING: Final = frozenset({"show", "sho", "sh", "s", "list", "lst", "ls", "l", "dev", "up"})
_CHANGES: Final = frozenset({"add", "del", "delete", "set", "change", "replace", "flush", "append", "a", "d"})
_DENIED: Final = "RTNETLINK answers: Operation not permitted"
_FAULT: Final = 2
_FOREVER: Final = "       valid_lft forever preferred_lft forever"
_MTU: Final = 1500
_ANY: Final = "0.0.0.0"  # noqa: S104, a text that is shown
Address = IPv4Interface | IPv6Interface


class _Interface(NamedTuple):
    """A network interface: its number, name and state, its kind and address of hardware, and its own addresses."""

    number: int
    name: str
    peer: str
    flags: Sequence[str]
    mtu: int
    kind: str
    hardware: str
    broadcast: str
    addresses: Sequence[Address]

    @property
    def shown_name(self) -> str:
        return f"{self.name}{self.peer}"


def _interfaces(machine: Machine) -> list[_Interface]:
    own = [ip_interface(f"{each}/{_PREFIXES[ip_interface(each).version]}") for each in machine.network.own_addresses()]
    loopback = _Interface(
        1, "lo", "", ("LOOPBACK", "UP", "LOWER_UP"), 65536, "loopback", "00:00:00:00:00:00", "00:00:00:00:00:00",
        [ip_interface("127.0.0.1/8"), ip_interface("::1/128")],
    )  # fmt: skip
    if not own:
        return [loopback]
    flags = ("BROADCAST", "MULTICAST", "UP", "LOWER_UP")
    hardware = "02:42:" + ":".join(f"{byte:02x}" for byte in own[0].packed[-4:])
    return [loopback, _Interface(2, "eth0", "@if3", flags, _MTU, "ether", hardware, "ff:ff:ff:ff:ff:ff", own)]


def _gateway(address: Address) -> str:
    return str(address.network.network_address + 1)


def _ip(machine: Machine, words: list[str]) -> Run:
    """``ip [-4|-6] [-o] [-br] [-j] {address|link|route|neigh|rule} [show] [dev NAME]``."""
    flags = [word.lstrip("-") for word in words[1:] if word.startswith("-")]
    rest = [word for word in words[1:] if not word.startswith("-")]
    if "V" in flags or "Version" in flags:
        yield line("ip utility, iproute2-6.1.0")
        return 0
    found = next((each for each in _OBJECTS if rest and each.startswith(rest[0])), "")
    if not found:
        yield error("ip", f'Object "{rest[0]}" is unknown, try "ip help".' if rest else "an object is missing")
        return 1 if rest else 255
    if any(word in _CHANGES for word in rest[1:2]):
        yield error("ip", _DENIED)
        return _FAULT
    if found == "route":
        return (yield from _ip_route(machine, rest[1:], flags))
    if found == "rule":
        for number, table in ((0, "local"), (32766, "main"), (32767, "default")):
            yield line(f"{number}:\tfrom all lookup {table}")
        return 0
    if found not in ("address", "link"):
        return 0
    name = next((word for word in rest[1:] if word not in _SHOWING), "")
    chosen = [each for each in _interfaces(machine) if name in ("", each.name)]
    if not chosen:
        yield error("ip", f'Device "{name}" does not exist.' if found == "address" else f"can't find device '{name}'")
        return 1
    addresses = found == "address"
    if "j" in flags or "json" in flags:
        yield line(json.dumps([_as_json(each, flags, addresses=addresses) for each in chosen], separators=(",", ":")))
        return 0
    for each in chosen:
        for text in _brief(each, flags, addresses=addresses) if "br" in flags else _shown(each, flags, addresses):
            yield line(text)
    return 0


def _wanted(interface: _Interface, flags: Sequence[str]) -> list[Address]:
    versions = [version for version in (4, 6) if str(version) in flags] or [4, 6]
    return [each for each in interface.addresses if each.version in versions]


def _shown(interface: _Interface, flags: Sequence[str], addresses: bool) -> Iterator[str]:
    single = "o" in flags
    queue = "noqueue state UNKNOWN" if interface.name == "lo" else "noqueue state UP"
    head = (
        f"{interface.number}: {interface.shown_name}: <{','.join(interface.flags)}> mtu {interface.mtu} qdisc {queue}"
    )
    head += f"{' mode DEFAULT' if not addresses else ''} group default qlen 1000"
    link = f"link/{interface.kind} {interface.hardware} brd {interface.broadcast}"
    link += " link-netnsid 0" if interface.peer else ""
    own = _wanted(interface, flags) if addresses else []
    if single:
        if not addresses:
            yield f"{head}\\    {link}"
        for each in own:
            yield f"{interface.number}: {interface.name}    {_of_address(each, interface)}\\{_FOREVER}"
        return
    if addresses and not own:
        return
    yield head
    if not {"4", "6"} & set(flags):
        yield f"    {link}"
    for each in own:
        yield f"    {_of_address(each, interface)}"
        yield _FOREVER


def _of_address(address: Address, interface: _Interface) -> str:
    scope = "host" if address.ip.is_loopback else "global"
    if address.version == 6:
        return f"inet6 {address} scope {scope} " + ("" if scope == "host" else "nodad ")
    wide = "" if scope == "host" else f"brd {address.network.broadcast_address} "
    return f"inet {address} {wide}scope {scope} {interface.name}"


def _brief(interface: _Interface, flags: Sequence[str], *, addresses: bool) -> Iterator[str]:
    state = "UNKNOWN" if interface.name == "lo" else "UP"
    own = " ".join(str(each) for each in _wanted(interface, flags))
    rest = f"{own} " if addresses else f"{interface.hardware} <{','.join(interface.flags)}> "
    yield f"{interface.shown_name:<16} {state:<14} {rest}"


def _as_json(interface: _Interface, flags: Sequence[str], *, addresses: bool) -> dict[str, Any]:
    made: dict[str, Any] = {
        "ifindex": interface.number,
        "ifname": interface.name,
        "flags": list(interface.flags),
        "mtu": interface.mtu,
        "qdisc": "noqueue",
        "operstate": "UNKNOWN" if interface.name == "lo" else "UP",
        "group": "default",
        "txqlen": 1000,
        "link_type": interface.kind,
        "address": interface.hardware,
        "broadcast": interface.broadcast,
    }
    if addresses:
        made["addr_info"] = [
            {
                "family": "inet" if each.version == 4 else "inet6",
                "local": str(each.ip),
                "prefixlen": each.network.prefixlen,
                "scope": "host" if each.ip.is_loopback else "global",
                "label": interface.name,
                "valid_life_time": 4294967295,
                "preferred_life_time": 4294967295,
            }
            for each in _wanted(interface, flags)
        ]
    return made


def _ip_route(machine: Machine, words: list[str], flags: Sequence[str]) -> Run:
    version = 6 if "6" in flags else 4
    own = [each for each in _interfaces(machine)[-1].addresses if each.version == version and not each.ip.is_loopback]
    if words[:1] == ["get"]:
        if len(words) < 2 or not own:
            yield error("ip", "RTNETLINK answers: Network is unreachable")
            return _FAULT
        yield line(f"{words[1]} {_way(words[1], own[0])} src {own[0].ip} uid {machine.files.user.uid} \n    cache ")
        return 0
    if own and "default" not in words[2:]:
        yield line(f"default via {_gateway(own[0])} dev eth0 ")
        yield line(f"{own[0].network} dev eth0 proto kernel scope link src {own[0].ip} ")
    elif own:
        yield line(f"default via {_gateway(own[0])} dev eth0 ")
    return 0


def _way(target: str, own: Address) -> str:
    try:
        near = ip_interface(target).ip in own.network
    except ValueError:
        near = False
    return "dev eth0" if near else f"via {_gateway(own)} dev eth0"


def _ifconfig(machine: Machine, words: list[str]) -> Run:
    wanted = [word for word in words[1:] if not word.startswith("-")]
    found = [each for each in reversed(_interfaces(machine)) if not wanted or each.name == wanted[0]]
    if not found:
        yield error("ifconfig", f"{wanted[0]}: error fetching interface information: Device not found")
        return 1
    for each in found:
        kind = "Local Loopback" if each.name == "lo" else f"Ethernet  HWaddr {each.hardware.upper()}"
        yield line(f"{each.name:<9} Link encap:{kind}")
        for address in each.addresses:
            if address.version == 6:
                scope = "Host" if address.ip.is_loopback else "Global"
                yield line(f"          inet6 addr: {address} Scope:{scope}")
            else:
                wide = "" if address.ip.is_loopback else f"  Bcast:{address.network.broadcast_address}"
                yield line(f"          inet addr:{address.ip}{wide}  Mask:{address.netmask}")
        flags = "UP LOOPBACK RUNNING" if each.name == "lo" else "UP BROADCAST RUNNING MULTICAST"
        yield line(f"          {flags}  MTU:{each.mtu}  Metric:1\n")
    return 0


def _route(machine: Machine, words: list[str]) -> Run:
    if any(word in ("add", "del") for word in words[1:]):
        yield error("route", "SIOCADDRT: Operation not permitted")
        return 1
    yield line("Kernel IP routing table")
    yield line("Destination     Gateway         Genmask         Flags Metric Ref    Use Iface")
    own = [each for each in _interfaces(machine)[-1].addresses if each.version == 4 and not each.ip.is_loopback]
    for each in own[:1]:
        yield line(f"{_ANY:<15} {_gateway(each):<15} {_ANY:<15} UG    0      0        0 eth0")
        network = each.network
        yield line(f"{network.network_address!s:<15} {_ANY:<15} {network.netmask!s:<15} U     0      0        0 eth0")
    return 0


_LISTS: Final = Syntax(names={"listening": "l", "tcp": "t", "udp": "u", "numeric": "n", "all": "a", "processes": "p"})


def _netstat(machine: Machine, words: list[str]) -> Run:
    """``netstat`` and ``ss``: the ports on which commands of the container, or its program, listen."""
    given = _LISTS.read(words[1:])
    if "r" in given and words[0] == "netstat":
        return (yield from _route(machine, ["route"]))
    ports = _ports(machine, given)
    if words[0] == "ss":
        yield line("State  Recv-Q Send-Q Local Address:Port Peer Address:Port Process")
        for port in ports:
            yield line(f"LISTEN 0      128    {f'{_ANY}:{port}':>18} {f'{_ANY}:*':>17}")
        return 0
    yield line(f"Active Internet connections ({'only servers' if 'l' in given else 'w/o servers'})")
    owner = "    PID/Program name" if "p" in given else ""
    yield line(f"Proto Recv-Q Send-Q Local Address           Foreign Address         State       {owner}")
    for port in ports:
        name = f"1/{machine.shared.first_words[0]}" if "p" in given else ""
        yield line(f"tcp        0      0 {f'{_ANY}:{port}':<23} {f'{_ANY}:*':<23} LISTEN      {name}".rstrip(" "))
    return 0


def _ports(machine: Machine, given: Given) -> list[int]:
    if not given.any("la") or ("u" in given and "t" not in given):
        return []
    return sorted(set(machine.network.listening()))


INTERFACE_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {
    "ip": _ip,
    "ifconfig": _ifconfig,
    "route": _route,
    "netstat": _netstat,
    "ss": _netstat,
}
"""The commands of this module, by name."""
