"""Tables and objects as kubectl prints them, and descriptions: their fields in order, and their Events.

Upstream: tableprinter.go and tabwriter.go of k8s.io/cli-runtime/pkg/printers, release 1.32.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import yaml

from simkit.meta.objects import Object, name_of, namespace_of
from simkit.notebook.kubectl.client import Client, KubectlError, meant

_PADDING: Final = 3
_MINIMUM: Final = 6
_BOOLEANS: Final = ("y", "Y", "n", "N")
"""Texts that YAML 1.1 reads as booleans, and PyYAML does not."""


def columns_text(rows: Sequence[Sequence[str]]) -> str:
    """Rows with their columns below each other, three blanks apart and at least six wide, as kubectl's tab writer."""
    if not rows:
        return ""
    count = max(map(len, rows))
    widths = [
        max(max((len(row[place]) for row in rows if place < len(row) - 1), default=0) + _PADDING, _MINIMUM)
        for place in range(count)
    ]
    lines = []
    for row in rows:
        cells = [text.ljust(widths[place]) for place, text in enumerate(row[:-1])]
        lines.append("".join(cells) + row[-1])
    return "\n".join(lines) + "\n"


def table_rows(
    table: Mapping[str, Any],
    *,
    wide: bool,
    namespaces: bool,
    labels: bool,
    columns: Sequence[str] = (),
    prefix: str = "",
    heads: bool = True,
) -> list[list[str]]:
    """The rows of a server's Table, with its heads, for ``columns_text``."""
    defined = [(place, each) for place, each in enumerate(table["columnDefinitions"]) if wide or not each["priority"]]
    first = [each["name"].upper() for _, each in defined]
    last = [*(each.rpartition("/")[2].upper() for each in columns), *(["LABELS"] if labels else [])]
    lines = [[*(["NAMESPACE"] if namespaces else []), *first, *last]] if heads else []
    for row in table.get("rows") or ():
        data = (row.get("object") or {}).get("metadata") or {}
        cells = [_cell(row["cells"][place]) for place, _ in defined]
        if prefix and cells:
            cells[0] = f"{prefix}/{cells[0]}"
        shown = [data.get("namespace", "")] if namespaces else []
        chosen = [(data.get("labels") or {}).get(each, "") for each in columns]
        lines.append([*shown, *cells, *chosen, *([label_text(data.get("labels"))] if labels else [])])
    return lines


def _cell(value: Any) -> str:
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).split("\n", 1)[0] + ("..." if "\n" in str(value) else "")


def label_text(labels: Mapping[str, str] | None) -> str:
    """Labels in the order of their keys; ``<none>`` for none."""
    return ",".join(f"{name}={value}" for name, value in sorted((labels or {}).items())) or "<none>"


class _Dumper(yaml.SafeDumper):
    """YAML as Go's library writes it: lists stand under their key without indentation."""


def _text(dumper: Any, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value and not any(line.endswith(" ") for line in value.split("\n")) else None
    plain = dumper.resolve(yaml.ScalarNode, value, (True, False))
    read_otherwise = plain != "tag:yaml.org,2002:str" or value in _BOOLEANS
    quoted = '"' if style is None and value and read_otherwise else style
    node: yaml.ScalarNode = dumper.represent_scalar(
        "tag:yaml.org,2002:str", value, style='"' if value == "" else quoted
    )
    return node


_Dumper.add_representer(str, _text)


def yaml_text(value: Any) -> str:
    """A value as YAML with sorted keys."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=True, allow_unicode=True, width=80)
    return text


def json_text(value: Any) -> str:
    """A value as JSON with sorted keys and four blanks."""
    return json.dumps(value, indent=4, sort_keys=True, ensure_ascii=False) + "\n"


def without_managed_fields(obj: Mapping[str, Any]) -> dict[str, Any]:
    """An object as kubectl prints it."""
    if "metadata" not in obj:
        return dict(obj)
    kept = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    return {**obj, "metadata": kept}


def listed(objects: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Several objects as the list that kubectl makes."""
    items = [without_managed_fields(each) for each in objects]
    return {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}}


def object_text(value: Any, output: str) -> str:
    """An object or list in the form of ``--output``."""
    return yaml_text(value) if output == "yaml" else json_text(value)


_HIDDEN = frozenset({"managedFields", "uid", "resourceVersion", "generation", "selfLink"})


def describe(client: Client, args: Namespace, stdin: str) -> str:
    """The fields of objects, each list and mapping indented, and the Events about them."""
    if not (args.words or args.filename):
        raise KubectlError("error: You must specify the type of resource to describe.")
    texts = []
    for each in meant(client, args, stdin):
        namespace = (each.namespace or client.namespace) if each.resource.namespaced and not args.all_namespaces else ""
        query = {"labelSelector": args.selector} if args.selector and not each.name else None
        answer = client.ask("GET", client.path(each.resource, namespace, each.name), query=query).object
        found = [answer] if each.name else answer["items"]
        texts += ["".join(_described(client, obj, each.resource.kind)) for obj in found]
    return "\n\n".join(texts) or "No resources found\n"


def _described(client: Client, obj: Object, kind: str) -> Iterator[str]:
    data = {key: value for key, value in (obj.get("metadata") or {}).items() if key not in _HIDDEN}
    first = {"name": data.pop("name", ""), **({"namespace": data.pop("namespace")} if "namespace" in data else {})}
    rest = {key: value for key, value in obj.items() if key not in ("metadata", "apiVersion", "kind")}
    if kind == "Secret":
        rest["data"] = {key: f"{len(value) * 3 // 4} bytes" for key, value in (rest.get("data") or {}).items()}
    yield from _lines({**first, **data, **rest}, 0)
    yield from _events(client, obj, kind)


def _lines(value: Mapping[str, Any], depth: int) -> Iterator[str]:
    for key, inner in value.items():
        head = f"{'  ' * depth}{key[:1].upper()}{key[1:]}:"
        if isinstance(inner, Mapping) and inner:
            yield f"{head}\n"
            yield from _lines(inner, depth + 1)
        elif isinstance(inner, list) and inner:
            yield f"{head}\n"
            for item in inner:
                yield from _item(item, depth + 1)
        else:
            yield f"{head}  {_written(inner)}\n"


def _item(item: Any, depth: int) -> Iterator[str]:
    if not isinstance(item, Mapping):
        yield f"{'  ' * depth}- {_written(item)}\n"
        return
    first, *others = list(_lines(item, depth + 1)) or [""]
    yield f"{'  ' * depth}- {first.lstrip()}"
    yield from others


def _written(value: Any) -> str:
    if value in (None, "", [], {}):
        return "<none>"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _events(client: Client, obj: Object, kind: str) -> Iterator[str]:
    query = {"fieldSelector": f"involvedObject.name={name_of(obj)},involvedObject.kind={kind}"}
    path = client.path(client.resource("events"), namespace_of(obj))
    found = client.ask("GET", path, query=query).object["items"]
    if not found:
        yield "Events:  <none>\n"
        return
    rows = [["Type", "Reason", "Count", "From", "Message"]]
    for each in sorted(found, key=lambda event: str(event.get("lastTimestamp") or event.get("eventTime") or "")):
        source = (each.get("source") or {}).get("component") or each.get("reportingComponent") or ""
        rows.append(
            [each.get("type", ""), each.get("reason", ""), str(each.get("count") or 1), source, each.get("message", "")]
        )
    yield "Events:\n"
    yield "".join(f"  {line}\n" for line in columns_text(rows).splitlines())
