"""Makes the table under ``datasets/bootstrap`` from the recorded objects of an empty cluster of a release.

    python -m tools.compile_bootstrap --objects empty-cluster.json.gz [--out datasets]

Only what says how requests share the server: flow schemas and priority levels, without what differs between servers.
The same objects give the same bytes, one object a line.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

HERE = Path(__file__).resolve().parent
KINDS = ("PriorityLevelConfiguration", "FlowSchema")


def row(obj: Mapping[str, Any]) -> dict[str, Any]:
    """An object as somebody would write it."""
    metadata = {name: obj["metadata"][name] for name in ("name", "annotations")}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata, "spec": obj["spec"]}


def table(objects: Iterable[Mapping[str, Any]]) -> bytes:
    """The text of the table: levels before the schemas that name them, each by name."""
    wanted = [row(obj) for obj in objects if obj["kind"] in KINDS]
    wanted.sort(key=lambda obj: (KINDS.index(obj["kind"]), obj["metadata"]["name"]))
    return b"[\n" + b",\n".join(orjson.dumps(obj, option=orjson.OPT_SORT_KEYS) for obj in wanted) + b"\n]\n"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=HERE.parent / "datasets")
    parser.add_argument("--release", default="1.30")
    options = parser.parse_args(arguments)
    objects = orjson.loads(gzip.decompress(options.objects.read_bytes()))["items"]
    target = options.out / "bootstrap" / f"flow-{options.release}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(table(objects))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
