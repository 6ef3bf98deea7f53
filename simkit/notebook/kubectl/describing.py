"""Objects of any kind for people: their fields in order, and their Events."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping
from typing import Any

from simkit.meta.objects import Object, name_of, namespace_of
from simkit.notebook.kubectl.client import Client, KubectlError, meant
from simkit.notebook.kubectl.printing import columns_text

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
            yield f"{head}  {_text(inner)}\n"


def _item(item: Any, depth: int) -> Iterator[str]:
    if not isinstance(item, Mapping):
        yield f"{'  ' * depth}- {_text(item)}\n"
        return
    first, *others = list(_lines(item, depth + 1)) or [""]
    yield f"{'  ' * depth}- {first.lstrip()}"
    yield from others


def _text(value: Any) -> str:
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
