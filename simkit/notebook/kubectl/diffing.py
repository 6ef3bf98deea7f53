"""kubectl diff.

Upstream: k8s.io/kubectl/pkg/cmd/diff, release 1.32.
"""

from __future__ import annotations

import difflib
from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from simkit.meta.domain import LAST_APPLIED
from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.notebook.kubectl.printing import without_managed_fields, yaml_text
from simkit.notebook.kubectl.selection import documents, place_of
from simkit.schema.resources import Resource

_APPLY = "application/apply-patch+yaml"


def diff(client: Client, args: Namespace, stdin: str) -> str:
    """The changes that ``apply`` would make, line by line, by a dry run of the server.

    Raises KubectlError with the differences and exit code 1 if there are any, as the command ends. kubectl names
    folders for files that it removes again, with their times; here the folders are called LIVE and MERGED.
    """
    text = ""
    for obj in documents(client, args.filename or (["-"] if stdin else []), stdin):
        resource, namespace, name = place_of(client, obj)
        path = client.path(resource, namespace, name)
        query = {"dryRun": "All", "fieldManager": "kubectl-client-side-apply", "force": "true"}
        before = client.live(path)
        after = client.ask("PATCH", path, _as_before(obj, before), query=query, media=_APPLY).object
        whole = ".".join((resource.group, resource.version, resource.kind, namespace, name)).removeprefix(".")
        text += _compared(whole, resource, before, after)
    if text:
        raise KubectlError(text.removesuffix("\n"))
    return ""


def _as_before(obj: dict[str, Any], before: Mapping[str, Any] | None) -> dict[str, Any]:
    """The object with the applied configuration that the present one has in its annotation, which is not compared."""
    kept = ((before or {}).get("metadata", {}).get("annotations") or {}).get(LAST_APPLIED)
    data = obj.get("metadata") or {}
    annotations = {**(data.get("annotations") or {}), **({LAST_APPLIED: kept} if kept else {})}
    return {**obj, "metadata": {**data, **({"annotations": annotations} if annotations else {})}}


def _compared(whole: str, resource: Resource, before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> str:
    one, other = (_shown(each, resource) for each in (before, after))
    lines = difflib.unified_diff(one, other, f"LIVE/{whole}", f"MERGED/{whole}", lineterm="")
    text = "".join(f"{line}\n" for line in lines)
    return text and f"diff -u -N LIVE/{whole} MERGED/{whole}\n{text}"


def _shown(obj: Mapping[str, Any] | None, resource: Resource) -> list[str]:
    """The lines of an object; of a secret without its values."""
    if obj is None:
        return []
    shown = without_managed_fields(obj)
    if resource.kind == "Secret" and not resource.group:
        shown["data"] = dict.fromkeys(shown.get("data") or {}, "***")
    return yaml_text(shown).splitlines()
