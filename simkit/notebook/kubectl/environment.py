"""kubectl set env --list: the variables of containers, with ``--resolve`` the values that references stand for.

Upstream: set_env.go and env/env_resolve.go in k8s.io/kubectl/pkg/cmd/set, release 1.32.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simkit.meta.objects import Object, at
from simkit.notebook.kubectl.client import Client
from simkit.notebook.kubectl.references import References
from simkit.notebook.kubectl.selection import named


def env_lines(client: Client, args: Namespace, words: Sequence[str]) -> str:
    """The variables of each container of the named objects, ready for a shell; references as comments."""
    args.words, text = list(words), ""
    references = References(client) if args.resolve else None
    for resource, namespace, name in named(client, args):
        live = client.ask("GET", client.path(resource, namespace, name)).object
        text += "".join(f"{line}\n" for line in _lines(live, name, args.container, references))
    return text + (references.errors_text() if references is not None else "")


def _lines(live: Object, name: str, container: str, references: References | None) -> Iterator[str]:
    paths = (("spec",), ("spec", "template", "spec"), ("spec", "jobTemplate", "spec", "template", "spec"))
    spec = next((found for path in reversed(paths) if "containers" in (found := at(live, *path) or {})), {})
    for each in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        if container not in ("", "*", each["name"]):
            continue
        yield f"# {live['kind']} {name}, container {each['name']}"
        for env in each.get("env") or ():
            value = references.value_of(live, each, env) if references is not None and env.get("valueFrom") else None
            yield _variable(env) if value is None else f"{env['name']}={value}"
        for source in each.get("envFrom") or ():
            yield from _all_of(source)


def _variable(env: Mapping[str, Any]) -> str:
    name, source = env["name"], env.get("valueFrom") or {}
    if not source:
        return f"{name}={env.get('value', '')}"
    if "fieldRef" in source:
        return f"# {name} from field path {source['fieldRef']['fieldPath']}"
    if "resourceFieldRef" in source:
        inside = source["resourceFieldRef"].get("containerName")
        of = f"{inside}/" if inside else ""
        return f"# {name} from resource field {of}{source['resourceFieldRef']['resource']}"
    kind, word = ("secretKeyRef", "secret") if "secretKeyRef" in source else ("configMapKeyRef", "configmap")
    return f"# {name} from {word} {source[kind].get('name', '')}, key {source[kind].get('key', '')}"


def _all_of(source: Mapping[str, Any]) -> Iterator[str]:
    """The line of a source of many variables."""
    for field, word in (("configMapRef", "configmap"), ("secretRef", "secret")):
        if field in source:
            yield f"# {source.get('prefix', '')} from {word} {source[field].get('name', '')}".replace("#  ", "# ")
