"""Roles, bindings, service accounts, secrets and config maps as kubectl describes them.

Upstream: k8s.io/kubectl/pkg/describe/describe.go, release 1.32.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.meta.domain import label
from simkit.meta.objects import Object
from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.notebook.kubectl.description.events import event_lines, events_of
from simkit.notebook.kubectl.description.parts import annotation_lines, label_lines, name_lines

Part = tuple[str, str, str, str]
"""Resource, group, name and URL of a single part of a rule."""
RULE_HEADS: Final = ("Resources", "Non-Resource URLs", "Resource Names", "Verbs")


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for cells in (heads, ["-" * len(head) for head in heads], *rows):
        yield "  " + "\t".join(cells)


def role_lines(client: Client, obj: Object) -> Iterator[str]:
    """A role with one line for each single part of its rules."""
    yield from name_lines(obj, namespace=False)
    yield from label_lines(obj["metadata"].get("labels"))
    yield from annotation_lines(obj)
    yield "PolicyRule:"
    yield from _table(RULE_HEADS, rule_rows(obj.get("rules") or ()))


def rule_rows(rules: Iterable[Mapping[str, Any]]) -> list[list[str]]:
    """Resource, URL, name and verbs of each single part of rules, in kubectl's order.

    Verbs on the same resources are joined; rules about URLs stay as they are.
    """
    resources: dict[Part, list[str]] = {}
    urls: list[tuple[Part, list[str]]] = []
    for rule in rules:
        for part in _broken_down(rule):
            if part[3]:
                urls.append((part, list(rule["verbs"])))
                continue
            known = resources.setdefault(part, [])
            known += [verb for verb in rule["verbs"] if verb not in known]
    rows = sorted([*resources.items(), *urls], key=lambda row: _order(*row))
    return [
        [_grouped(what, group), f"[{url}]", f"[{name}]", f"[{' '.join(verbs)}]"]
        for (what, group, name, url), verbs in rows
    ]


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


def binding_lines(client: Client, obj: Object) -> Iterator[str]:
    """A binding with its role and subjects."""
    role = obj["roleRef"]
    yield from name_lines(obj, namespace=False)
    yield from label_lines(obj["metadata"].get("labels"))
    yield from annotation_lines(obj)
    yield from ("Role:", f"  Kind:\t{role['kind']}", f"  Name:\t{role['name']}", "Subjects:")
    rows = [[each["kind"], each["name"], each.get("namespace", "")] for each in obj.get("subjects") or ()]
    yield from _table(("Kind", "Name", "Namespace"), rows)


def secret_lines(client: Client, obj: Object) -> Iterator[str]:
    """A secret with the sizes of its values."""
    yield from name_lines(obj)
    yield from label_lines(obj["metadata"].get("labels"))
    yield from annotation_lines(obj)
    yield from ("", f"Type:\t{obj.get('type', '')}", "", "Data", "====")
    for name, value in sorted((obj.get("data") or {}).items()):
        yield f"{name}:\t{len(b64decode(value))} bytes"


def config_map_lines(client: Client, obj: Object) -> Iterator[str]:
    """A config map with its texts, and the sizes of its binary values."""
    yield from name_lines(obj)
    yield from label_lines(obj["metadata"].get("labels"))
    yield from annotation_lines(obj)
    yield from ("", "Data", "====")
    for name, value in sorted((obj.get("data") or {}).items()):
        yield from (f"{name}:", "----", value, "")
    yield from ("", "BinaryData", "====")
    for name, value in sorted((obj.get("binaryData") or {}).items()):
        yield f"{name}: {len(b64decode(value))} bytes"
    yield ""
    yield from event_lines(client, events_of(client, obj, kind="ConfigMap"))


def service_account_lines(client: Client, obj: Object) -> Iterator[str]:
    """A service account with its secrets, and those of them that do not exist."""
    yield from name_lines(obj)
    yield from label_lines(obj["metadata"].get("labels"))
    yield from annotation_lines(obj)
    secrets = _secrets(client, obj["metadata"]["namespace"])
    tokens = [each["metadata"]["name"] for each in secrets or () if _is_token_of(each, obj)]
    existing = {each["metadata"]["name"] for each in secrets or ()}
    for head, names in (
        ("Image pull secrets:", [each["name"] for each in obj.get("imagePullSecrets") or ()]),
        ("Mountable secrets: ", [each["name"] for each in obj.get("secrets") or ()]),
        ("Tokens:            ", tokens),
    ):
        for number, name in enumerate(names or ["<none>"]):
            absent = names and secrets is not None and name not in existing
            yield f"{head if not number else ' ' * len(head)}\t{name}{' (not found)' if absent else ''}"
    yield from event_lines(client, events_of(client, obj, kind="ServiceAccount"))


def _secrets(client: Client, namespace: str) -> list[dict[str, Any]] | None:
    """The secrets of a namespace; None if the user may not list them."""
    try:
        return list(client.ask("GET", client.path(client.resource("secrets"), namespace)).object["items"])
    except KubectlError:
        return None


def _is_token_of(secret: Mapping[str, Any], account: Object) -> bool:
    notes, data = secret["metadata"].get("annotations") or {}, account["metadata"]
    named = notes.get(label("service-account.name")) == data["name"]
    return bool(
        secret.get("type") == label("service-account-token")
        and named
        and notes.get(label("service-account.uid")) == data["uid"]
    )
