"""kubectl describe: kinds of access control and of configuration in their own form, all others field by field.

Upstream: k8s.io/kubectl/pkg/describe/describe.go, release 1.33.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from simkit.notebook.kubectl.client import Client
from simkit.notebook.kubectl.selection import selected

_SKIPPED: Final = ("managedFields", "name", "namespace", "labels", "annotations", "selfLink")
_HIDDEN: Final = "kubectl.kubernetes.io/last-applied-configuration"


def describe(client: Client, args: Namespace) -> str:
    """The objects that the words name, in full."""
    parts = []
    for one in selected(client, args.words):
        namespace = client.namespace if one.resource.namespaced else ""
        path = client.path(one.resource, namespace, one.name)
        answer = client.ask("GET", path).object
        kinds = {"apiVersion": one.resource.api_version, "kind": one.resource.kind}
        parts += [described({**kinds, **each}) for each in ([answer] if one.name else answer["items"])]
    return "\n\n".join(parts)


def described(obj: Mapping[str, Any]) -> str:
    """One object as kubectl describes it."""
    writers = {
        **dict.fromkeys(("Role", "ClusterRole"), _role),
        **dict.fromkeys(("RoleBinding", "ClusterRoleBinding"), _binding),
        "Secret": _secret,
        "ConfigMap": _config_map,
    }
    return writers.get(str(obj["kind"]), _generic)(obj)


def _head(obj: Mapping[str, Any], *, namespace: bool = True) -> list[tuple[str, ...]]:
    data = obj["metadata"]
    rows: list[tuple[str, ...]] = [("Name:", data["name"])]
    rows += [("Namespace:", data.get("namespace", ""))] if namespace else []
    rows += _pairs("Labels:", data.get("labels") or {}, "=")
    shown = {name: text for name, text in (data.get("annotations") or {}).items() if name != _HIDDEN}
    return [*rows, *_pairs("Annotations:", shown, ": ")]


def _pairs(head: str, pairs: Mapping[str, str], between: str) -> list[tuple[str, ...]]:
    lines = [f"{name}{between}{text}" for name, text in sorted(pairs.items())] or ["<none>"]
    return [(head if not number else "", line) for number, line in enumerate(lines)]


def tabbed(rows: Sequence[Sequence[str]]) -> str:
    """Rows with their first columns below each other, two blanks apart; a line without columns begins anew."""
    text = ""
    for several, block in groupby(rows, lambda row: len(row) > 1):
        listed = list(block)
        width = max(len(row[0]) for row in listed) + 2
        text += "".join(f"{row[0].ljust(width)}{row[1]}\n" if several else f"{row[0]}\n" for row in listed)
    return text


def _block(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table below a head, two blanks to the right, with dashes under its heads."""
    listed = [list(heads), ["-" * len(head) for head in heads], *map(list, rows)]
    widths = [max(len(row[place]) for row in listed) + 2 for place in range(len(heads))]
    lines = ("".join(cell.ljust(width) for cell, width in zip(row[:-1], widths)) + row[-1] for row in listed)
    return "".join(f"  {line}\n" for line in lines)


def _listed(value: str) -> str:
    return f"[{value}]"


def _role(obj: Mapping[str, Any]) -> str:
    rows: dict[tuple[str, str, str, str], list[str]] = {}
    for rule in obj.get("rules") or ():
        for key in _broken_down(rule):
            known = rows.setdefault(key, [])
            known += [verb for verb in rule["verbs"] if verb not in known]
    lines = [
        [_grouped(what, group), _listed(url), _listed(name), f"[{' '.join(verbs)}]"]
        for (what, group, name, url), verbs in sorted(rows.items(), key=lambda row: _order(*row))
    ]
    heads = ("Resources", "Non-Resource URLs", "Resource Names", "Verbs")
    return tabbed([*_head(obj, namespace=False), ("PolicyRule:",)]) + _block(heads, lines)


def _broken_down(rule: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Resource, group, name and URL of each single part of a rule."""
    for resource in rule.get("resources") or ():
        for group in rule.get("apiGroups") or [""]:
            for name in rule.get("resourceNames") or [""]:
                yield resource, group, name, ""
    for url in rule.get("nonResourceURLs") or ():
        yield "", "", "", url


def _grouped(resource: str, group: str) -> str:
    """A resource with its group: ``deployments.apps/scale``."""
    name, slash, part = resource.partition("/")
    return f"{name}.{group}{slash}{part}" if group else resource


def _order(key: tuple[str, str, str, str], verbs: Sequence[str]) -> str:
    """The text by which kubectl sorts rules: that of Go for a rule."""
    what, group, name, url = key
    kinds = f"APIGroups:[{group}],Resources:[{what}],ResourceNames:[{name}]"
    return f"Verbs:[{' '.join(verbs)}],{kinds},NonResourceURLs:[{url}]"


def _binding(obj: Mapping[str, Any]) -> str:
    role = obj["roleRef"]
    head = [
        *_head(obj, namespace=False),
        ("Role:",),
        ("  Kind:", role["kind"]),
        ("  Name:", role["name"]),
        ("Subjects:",),
    ]
    rows = [[each["kind"], each["name"], each.get("namespace", "")] for each in obj.get("subjects") or ()]
    return tabbed(head) + _block(("Kind", "Name", "Namespace"), rows)


def _secret(obj: Mapping[str, Any]) -> str:
    from base64 import b64decode

    rows = [*_head(obj), ("",), ("Type:", f"{obj.get('type', '')}"), ("",), ("Data",), ("====",)]
    for name, value in sorted((obj.get("data") or {}).items()):
        rows.append((f"{name}:", f"{len(b64decode(value))} bytes"))
    return tabbed(rows)


def _config_map(obj: Mapping[str, Any]) -> str:
    text = tabbed([*_head(obj), ("",), ("Data",), ("====",)])
    for name, value in sorted((obj.get("data") or {}).items()):
        text += f"{name}:\n----\n{value}\n"
    text += "\nBinaryData\n====\n"
    for name, value in sorted((obj.get("binaryData") or {}).items()):
        text += f"{name}: {len(value)} bytes\n"
    return text + "\n" + tabbed([("Events:", "<none>")])


def _generic(obj: Mapping[str, Any]) -> str:
    rows = [*_head(obj), ("API Version:", obj["apiVersion"]), ("Kind:", obj["kind"])]
    data = {name: value for name, value in obj["metadata"].items() if name not in _SKIPPED}
    rest = {name: value for name, value in obj.items() if name not in ("metadata", "apiVersion", "kind")}
    fields = list(_fields({"metadata": data, **rest}, 0))
    return tabbed([*rows, *fields, ("Events:", "<none>")])


def _fields(value: Mapping[str, Any], depth: int) -> Iterator[tuple[str, ...]]:
    """The fields of an object in the order of their names, with words for heads."""
    blanks = "  " * depth
    for name, each in sorted(value.items()):
        head = f"{blanks}{_words(name)}:"
        if isinstance(each, Mapping):
            yield (head,)
            yield from _fields(each, depth + 1)
        elif isinstance(each, list):
            yield (head,)
            for item in each:
                yield from _fields(item, depth + 1) if isinstance(item, Mapping) else [(f"{blanks}  {_scalar(item)}",)]
        else:
            yield (head, _scalar(each))


def _scalar(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else "<nil>" if value is None else str(value)


def _words(name: str) -> str:
    """The name of a field in words: ``apiVersion`` is ``API Version``."""
    text = "".join(f" {letter}" if letter.isupper() and place else letter for place, letter in enumerate(name))
    return " ".join(
        word.upper() if word in ("api", "uid", "ip", "url") else word[:1].upper() + word[1:] for word in text.split()
    )
