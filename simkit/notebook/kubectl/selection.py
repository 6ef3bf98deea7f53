"""The objects that words of a command name: TYPE NAME, TYPE/NAME, TYPE,TYPE, and files."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simkit.meta.errors import SimkitError
from simkit.notebook.kubectl.client import Client, KubectlError, find_resource
from simkit.schema.resources import Resource
from simkit.snapshot.manifests import manifests


class Selected(NamedTuple):
    """A resource, and the name of one object; empty for all of them."""

    resource: Resource
    name: str = ""
    namespace: str = ""
    """The namespace of an object of a file; empty: that of the command."""


def selected(client: Client, words: Sequence[str]) -> list[Selected]:
    """The objects that the words name. Raises KubectlError as kubectl words it."""
    if not words:
        raise KubectlError("error: Required resource not specified.")
    if any("/" in word for word in words):
        return [_pair(client, word) for word in words]
    resources = [each for word in words[0].split(",") for each in _resources(client, word)]
    if len(words) == 1:
        return [Selected(each) for each in resources]
    return [Selected(each, name) for each in resources for name in words[1:]]


def meant(client: Client, args: Namespace, stdin: str) -> list[Selected]:
    """The objects that the words name, or those of files. Raises KubectlError as kubectl words it."""
    if not args.filename:
        return selected(client, args.words)
    if args.words:
        raise KubectlError(
            "error: when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well"
        )
    places = (place_of(client, obj) for obj in documents(client, args.filename, stdin))
    return [Selected(resource, name, namespace) for resource, namespace, name in places]


def _resources(client: Client, word: str) -> Iterator[Resource]:
    """The resources of a word; of a category all that are in it."""
    known = find_resource(client.catalogue, word)
    category = [] if known else [each for each in client.catalogue.stored() if word in each.categories]
    yield from category or [known or client.resource(word)]


def _pair(client: Client, word: str) -> Selected:
    kind, slash, name = word.partition("/")
    if not slash or not kind or not name:
        raise KubectlError(
            "error: there is no need to specify a resource type as a separate argument when passing arguments in "
            "resource/name form (e.g. 'kubectl get resource/<resource_name>' instead of 'kubectl get resource "
            "resource/<resource_name>'"
        )
    return Selected(client.resource(kind), name)


def documents(client: Client, names: Sequence[str], stdin: str) -> list[dict[str, Any]]:
    """The objects of files; ``-`` is the cell. Raises KubectlError for what cannot be read."""
    found: list[dict[str, Any]] = []
    for name in names:
        if name != "-" and not Path(name).exists():
            raise KubectlError(f'error: the path "{name}" does not exist')
        try:
            source = stdin if name == "-" else Path(name)
            found += map(dict, manifests(source, client.cluster.release, namespace=client.namespace))
        except SimkitError as error:
            raise KubectlError(f"error: {error}") from None
    if not found:
        raise KubectlError("error: no objects passed to apply" if names else "error: must specify one of -f and -k")
    return found


def named(client: Client, args: Namespace) -> list[tuple[Resource, str, str]]:
    """Resource, namespace and name of the objects that words, ``-l`` and ``--all`` mean, of all that the words name.

    Raises KubectlError for a kind alone, without a name, ``-l`` and ``--all``.
    """
    chosen: list[tuple[Resource, str, str]] = []
    for each in selected(client, args.words):
        namespace = client.namespace if each.resource.namespaced and not args.all_namespaces else ""
        if each.name:
            chosen.append((each.resource, namespace, each.name))
            continue
        if not (args.all or args.selector or args.field_selector):
            raise KubectlError("error: resource(s) were provided, but no name was specified")
        asked = {"labelSelector": args.selector, "fieldSelector": args.field_selector}
        query = {name: text for name, text in asked.items() if text}
        items = client.ask("GET", client.path(each.resource, namespace), query=query).object["items"]
        places = [(item["metadata"].get("namespace", ""), item["metadata"]["name"]) for item in items]
        chosen += [(each.resource, *place) for place in places]
    return chosen


def place_of(client: Client, obj: dict[str, Any]) -> tuple[Resource, str, str]:
    """Resource, namespace and name of an object. Raises KubectlError for a kind that is not served."""
    try:
        resource = client.catalogue.resource_of(obj)
    except SimkitError:
        version, kind = obj.get("apiVersion", ""), obj.get("kind", "")
        raise KubectlError(
            f'error: resource mapping not found for name: "{(obj.get("metadata") or {}).get("name", "")}" namespace: '
            f'"{(obj.get("metadata") or {}).get("namespace", "")}" from "STDIN": no matches for kind "{kind}" in '
            f'version "{version}"\nensure CRDs are installed first'
        ) from None
    data = obj.get("metadata") or {}
    namespace = data.get("namespace") or client.namespace if resource.namespaced else ""
    return resource, namespace, data.get("name", "")


def title(resource: Resource, name: str) -> str:
    """An object as messages name it: ``deployment.apps/web``."""
    group = f".{resource.group}" if resource.group else ""
    return f"{resource.kind.lower()}{group}/{name}"
