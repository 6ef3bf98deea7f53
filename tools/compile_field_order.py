"""Makes ``datasets/api/field-order.json.gz``: the fields of each type in the order in which Go declares them.

    python tools/compile_field_order.py [--out datasets] CHECKOUT [CHECKOUT ...]

CHECKOUT is a git directory of k8s.io/api, apimachinery, apiextensions-apiserver or kube-aggregator. Only names are
taken, from the ``generated.proto`` files, which have the order of the Go types: of the newest commit, and of release
1.30 for what the newest one no longer has. Go's encoder writes fields in that order.
"""

from __future__ import annotations

import argparse
import gzip
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import orjson

from tools.facts import FOLDER, read

HERE = Path(__file__).resolve().parent
REVISIONS = ("HEAD", "kubernetes-1.30.0")
_PACKAGE = re.compile(r"^package ([\w.]+);", re.MULTILINE)
_MESSAGE = re.compile(r"^message (\w+) \{(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^  (?:optional |repeated |map<).*?(\w+) = \d+;", re.MULTILINE)
Orders = dict[str, dict[str, list[str]]]
Facts = Mapping[str, Mapping[str, Mapping[str, str]]]


def git(checkout: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(checkout), *arguments], check=True, capture_output=True, text=True).stdout


def messages(checkout: Path, revision: str) -> Iterator[tuple[str, str, list[str]]]:
    """Package, message and fields of every message in the proto files of a revision."""
    for path in git(checkout, "ls-tree", "-r", "--name-only", revision).splitlines():
        if path.endswith("/generated.proto"):
            text = git(checkout, "show", f"{revision}:{path}")
            found = _PACKAGE.search(text)
            for name, body in _MESSAGE.findall(text):
                yield found[1] if found else "", name, _FIELD.findall(body)


def in_json(facts: Facts, orders: Orders, package: str, message: str) -> Iterator[str]:
    """Names of fields as JSON has them; those of a type that is inlined stand in the place of its field."""
    rows = facts.get(package, {}).get(message, {})
    for field in orders[package][message]:
        _, kind, *flags = rows.get(field, "0 string").split(" ")
        if "inline" in flags:
            within, _, name = kind.rpartition(".")
            yield from in_json(facts, orders, within or package, name)
        else:
            yield next((flag.removeprefix("json=") for flag in flags if flag.startswith("json=")), field)


def merged(newest: Sequence[str], older: Sequence[str]) -> list[str]:
    """The fields of both, each that the newest no longer has behind the one that it stood behind."""
    out = list(newest) or list(older)
    for number, field in enumerate(older):
        if field not in out:
            out.insert(out.index(older[number - 1]) + 1 if number else 0, field)
    return out


def types_of(facts: Facts, orders: Orders, package: str) -> dict[str, list[str]]:
    """The fields of the types of a package that have more than one."""
    found = {message: list(in_json(facts, orders, package, message)) for message in orders[package]}
    return {message: fields for message, fields in found.items() if len(fields) > 1}


def definition(package: str) -> str:
    """The beginning of the names of a package's definitions.

    Examples
    --------
    >>> definition("k8s.io.kube_aggregator.pkg.apis.apiregistration.v1")
    'io.k8s.kube-aggregator.pkg.apis.apiregistration.v1'
    """
    return "io.k8s" + package.removeprefix("k8s.io").replace("_", "-")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=HERE.parent / "datasets")
    parser.add_argument("--facts", type=Path, default=FOLDER)
    chosen = parser.parse_args(arguments)
    facts: Facts = read("protobuf-1.30.json", chosen.facts)["packages"]
    orders = Orders()
    for checkout in chosen.checkouts:
        for revision in REVISIONS:
            for package, message, fields in messages(checkout, revision):
                known = orders.setdefault(package, {})
                known[message] = merged(known.get(message, []), fields)
    kept = {definition(package): types_of(facts, orders, package) for package in orders}
    content = orjson.dumps(kept, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
    (chosen.out / "api" / "field-order.json.gz").write_bytes(gzip.compress(content, mtime=0))
    return 0


if __name__ == "__main__":
    sys.exit(main())
