"""The values of variables and special parameters in scripts.

References
----------
POSIX.1-2017, Shell Command Language, 2.5; ``RANDOM`` as in busybox and bash.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from simkit.simulation.shell.machine import Machine

_RANDOM: Final = (1_103_515_245, 12_345, 1 << 31)


def value_of_variable(machine: Machine, name: str) -> str | None:
    """The value of a variable or of a special parameter; None for one that is not set."""
    if name.isdigit() and name != "0":
        number = int(name[:6])
        return machine.arguments[number - 1] if number <= len(machine.arguments) else None
    if name in ("@", "*"):
        separator = machine.environment.get("IFS", " ")[:1]
        return (" " if name == "@" else separator).join(machine.arguments) if machine.arguments else None
    if name == "RANDOM":
        factor, step, most = _RANDOM
        machine.shared.random = (machine.shared.random * factor + step) % most
        return str(machine.shared.random >> 16 & 0x7FFF)
    special: Mapping[str, str] = {
        "?": str(machine.code), "$": str(machine.pid), "#": str(len(machine.arguments)), "0": machine.script,
        "PPID": "0",
        "!": str(machine.started) if machine.started else "",
        "-": "".join(sorted(each for each in machine.options if len(each) == 1)),
    }  # fmt: skip
    return special[name] if name in special else machine.environment.get(name)
