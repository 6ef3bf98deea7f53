"""Times of compiling and evaluating expressions, beside celpy: ``python tests/bench/bench_cel.py``."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import celpy
from celpy.adapter import json_to_cel

from simkit.language.cel.decl_types import schema_decl_type
from simkit.language.cel.environment import CALL_LIMIT, Environment
from simkit.language.cel.grammar import parser
from simkit.language.cel.types import DYN
from simkit.schema.behaviour import default_behaviour
from simkit.schema.structural import Schema

BEHAVIOUR = default_behaviour("1.30")

ROW = {
    "type": "object",
    "fields": {
        "replicas": {"type": "integer"},
        "minReplicas": {"type": "integer"},
        "name": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "ports": {
            "type": "array",
            "items": {"type": "object", "fields": {"name": {"type": "string"}, "port": {"type": "integer"}}},
        },
        "labels": {"type": "object", "values": {"type": "string"}},
    },
}
VALUE = {
    "replicas": 3,
    "minReplicas": 1,
    "name": "web-frontend",
    "tags": ["alpha", "beta", "gamma"],
    "ports": [{"name": f"p{number}", "port": 8000 + number} for number in range(10)],
    "labels": {f"team-{number}": "yes" for number in range(10)},
}
RULES = (
    "self.minReplicas <= self.replicas",
    "self.replicas >= 1 && self.replicas <= 10 && has(self.name)",
    "self.name.startsWith('web-') && size(self.name) < 64",
    "self.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
    "self.tags.all(t, t.size() > 2 && t != 'none')",
    "self.ports.all(p, p.port > 1024 && p.port < 65536)",
    "self.ports.exists(p, p.name == 'p7')",
    "self.ports.all(p, self.ports.exists_one(q, q.port == p.port))",
    "!has(self.labels) || self.labels.all(k, k.startsWith('team-') && self.labels[k] == 'yes')",
    "self.replicas > 5 ? self.name == 'big' : self.name != ''",
)


def seconds(action: Callable[[], object], least: float = 0.2) -> float:
    """Seconds that one call takes, over as many calls as fill the given time."""
    times = 1
    while True:
        start = time.perf_counter()
        for _ in range(times):
            action()
        taken = time.perf_counter() - start
        if taken > least:
            return taken / times
        times *= 4


def theirs(source: str) -> Callable[[], Any]:
    """celpy's interpreter on the same expression."""
    environment = celpy.Environment()
    program = environment.program(environment.compile(source))
    bindings = {"self": json_to_cel(VALUE)}
    return lambda: program.evaluate(bindings)


def _no_definition(name: str) -> Schema:
    raise KeyError(name)


def compiled_and_run(environment: Environment, source: str) -> object:
    """The first value of a new program."""
    return environment.compile(source).evaluate({"self": VALUE})


def main() -> None:
    """Print a row for each rule and the ratios to celpy."""
    start = time.perf_counter()
    parser()
    print(f"grammar, once in a process: {1e3 * (time.perf_counter() - start):.0f} ms")
    declared = schema_decl_type(Schema(ROW, _no_definition), "self")
    assert declared is not None
    typed, dynamic = Environment(BEHAVIOUR, {"self": declared}), Environment(BEHAVIOUR, {"self": DYN})
    bindings = {"self": VALUE}
    print(f"{'compile':>9} {'typed':>9} {'counted':>9} {'dynamic':>9} {'celpy':>9} {'ratio':>6}")
    ratios: list[float] = []
    for source in RULES:
        program, loose, peer = typed.compile(source), dynamic.compile(source), theirs(source)
        assert program.evaluate(bindings).value == bool(peer()), source
        compiling = seconds(partial(compiled_and_run, typed, source))
        own = seconds(partial(program.evaluate, bindings))
        counted = seconds(partial(program.evaluate, bindings, budget=CALL_LIMIT))
        untyped = seconds(partial(loose.evaluate, bindings))
        other = seconds(peer)
        ratios.append(other / own)
        print(
            f"{1e3 * compiling:7.2f}ms {1e6 * own:7.2f}µs {1e6 * counted:7.2f}µs {1e6 * untyped:7.2f}µs "
            f"{1e6 * other:7.0f}µs {other / own:5.0f}x  {source}"
        )
    print(
        f"ratio to celpy's interpreter: least {min(ratios):.0f}, middle {sorted(ratios)[len(ratios) // 2]:.0f} (goal 50)"
    )


if __name__ == "__main__":
    main()
