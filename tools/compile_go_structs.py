"""Makes ``datasets/api/1.30/go-structs.json``: the Go structs of pod templates, which the template hash prints.

    python tools/compile_go_structs.py [--out datasets] API APIMACHINERY

API and APIMACHINERY are folders of the Go modules k8s.io/api and k8s.io/apimachinery at v0.30, as ``go mod download``
or a vendor folder has them. Only names are taken: of each struct that a PodTemplateSpec contains, its fields in the
order of declaration, as name in JSON (empty for an embedded struct), name in Go and type; and the types that are
strings.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = "PodTemplateSpec"
_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_STRING = re.compile(r"^type (\w+) string$", re.MULTILINE)
_FIELD = re.compile(r"^\t(?:(\w+) +)?((?:\[\]|\*|map\[\w+\])*[\w.]+) *`([^`]*)`", re.MULTILINE)
_JSON = re.compile(r'json:"([^",]*)')
Fields = list[list[str]]


def structs(*sources: str) -> tuple[dict[str, Fields], set[str]]:
    """The fields of all structs in some files, and the names of the string types."""
    found: dict[str, Fields] = {}
    for text in sources:
        for name, body in _STRUCT.findall(text):
            found.setdefault(name, [_field(*row) for row in _FIELD.findall(body)])
    return found, {name for text in sources for name in _STRING.findall(text)}


def _field(name: str, kind: str, tags: str) -> list[str]:
    kind = kind.replace("metav1.", "")
    tag = _JSON.search(tags)
    embedded = ",inline" in tags and not name
    return ["" if embedded else tag[1] if tag else "", name or kind.rpartition(".")[2], kind]


def reachable(found: dict[str, Fields], root: str) -> dict[str, Fields]:
    """The structs that a struct contains, itself first."""
    seen: dict[str, Fields] = {}
    waiting = [root]
    while waiting:
        name = waiting.pop(0)
        if name in seen or name not in found:
            continue
        seen[name] = found[name]
        waiting += [re.sub(r"^(\[\]|\*|map\[\w+\])*", "", kind) for _, _, kind in found[name]]
    return dict(sorted(seen.items()))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("datasets"))
    parser.add_argument("api", type=Path)
    parser.add_argument("apimachinery", type=Path)
    args = parser.parse_args(arguments)
    core = (args.api / "core/v1/types.go").read_text()
    meta = (args.apimachinery / "pkg/apis/meta/v1/types.go").read_text()
    found, strings = structs(core, meta)
    made = reachable(found, ROOT)
    used = {re.sub(r"^(\[\]|\*|map\[\w+\])*", "", kind) for fields in made.values() for _, _, kind in fields}
    document = {"strings": sorted(used & strings), "structs": made}
    path = args.out / "api/1.30/go-structs.json"
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(fields)}" for name, fields in made.items())
    path.write_text(f'{{"strings": {json.dumps(document["strings"])},\n "structs": {{\n{rows}\n}}}}\n')
    print(f"{path}: {len(made)} structs", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
