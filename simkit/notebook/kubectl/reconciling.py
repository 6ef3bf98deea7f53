"""kubectl auth reconcile: roles and bindings that give at least what files say.

Upstream: k8s.io/kubectl/pkg/cmd/auth/reconcile.go and k8s.io/component-helpers/auth/rbac/reconciliation, release 1.32.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from simkit.logic.rbac.cover import uncovered
from simkit.logic.rbac.rule import Rule
from simkit.meta.domain import RBAC_GROUP
from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.notebook.kubectl.selection import documents, place_of, title
from simkit.notebook.kubectl.writing import mode_of, query_of

Part = Mapping[str, Any]
_RULE: Final = {
    "Verbs": "verbs",
    "APIGroups": "apiGroups",
    "Resources": "resources",
    "ResourceNames": "resourceNames",
    "NonResourceURLs": "nonResourceURLs",
}
_SUBJECT: Final = {"Kind": "kind", "APIGroup": "apiGroup", "Name": "name", "Namespace": "namespace"}
"""Fields as Go prints them, and their names in manifests."""


@dataclass(frozen=True, slots=True)
class _Change:
    """The change to be made to an object (none if empty), and the parts in which the present one differs."""

    word: str
    obj: dict[str, Any]
    missing: Sequence[Part] = ()
    extra: Sequence[Part] = ()


def reconcile(client: Client, args: Namespace, stdin: str) -> str:
    """A line for each role and binding of files, and below it what was added or removed.

    Present rules and subjects stay, unless ``--remove-extra-permissions`` or ``--remove-extra-subjects`` is given; a
    binding to another role is made anew. Objects of other groups are passed over.
    """
    text = ""
    for obj in documents(client, args.filename or (["-"] if stdin else []), stdin):
        resource, namespace, name = place_of(client, obj)
        if resource.group != RBAC_GROUP:
            continue
        if resource.namespaced and not (obj.get("metadata") or {}).get("namespace"):
            raise KubectlError(
                "error: resource name may not be empty\n"
                f"next: a namespace in the metadata of {resource.kind} {name}, which reconcile does not take from -n"
            )
        path = client.path(resource, namespace, name)
        change = _change(client.live(path), obj, args)
        if change.word and args.dry_run != "client":
            _write(client, change, path, client.path(resource, namespace), args)
        text += f"{title(resource, name)} reconciled{mode_of(args)}\n" + "".join(_told(change, args))
    return text


def _write(client: Client, change: _Change, path: str, collection: str, args: Namespace) -> None:
    query = query_of(args)
    if change.word == "recreate":
        client.ask("DELETE", path, query=query)
    if change.word == "update":
        client.ask("PUT", path, change.obj, query=query)
    else:
        client.ask("POST", collection, change.obj, query=query)


def _change(live: Mapping[str, Any] | None, wanted: dict[str, Any], args: Namespace) -> _Change:
    """The change that makes the present object give what the wanted one gives."""
    is_role = "roleRef" not in wanted
    field = "rules" if is_role else "subjects"
    parts: list[Part] = list(wanted.get(field) or ())
    if live is None:
        return _Change("create", wanted, parts)
    if not is_role and _role(live) != _role(wanted):
        return _Change("recreate", wanted)
    present: list[Part] = list(live.get(field) or ())
    if is_role:
        missing, extra = _lacking(present, parts), _lacking(parts, present)
        removes = args.remove_extra_permissions
    else:
        missing = [each for each in parts if _subject(each) not in map(_subject, present)]
        extra = [each for each in present if _subject(each) not in map(_subject, parts)]
        removes = args.remove_extra_subjects
    kept = [each for each in present if each not in extra] if removes and not is_role else present
    made = parts if removes and is_role and extra else [*kept, *missing]
    labelled = {**live, "metadata": _labelled(live["metadata"], wanted["metadata"])}
    obj = {**labelled, field: made}
    changed = bool(missing) or (bool(extra) and removes) or labelled != live
    return _Change("update" if changed else "", obj, missing, extra if removes else ())


def _labelled(live: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The present metadata with the labels and annotations that are wanted and not there; present ones win."""
    both = {field: {**(wanted.get(field) or {}), **(live.get(field) or {})} for field in ("labels", "annotations")}
    return {**live, **{field: found for field, found in both.items() if found}}


def _lacking(owned: Sequence[Part], wanted: Sequence[Part]) -> list[Part]:
    """The rules that the owned ones do not cover, piece by piece, in the form of manifests."""
    return [
        {
            field: list(found)
            for field, found in (
                ("verbs", each.verbs),
                ("apiGroups", each.api_groups),
                ("resources", each.resources),
                ("resourceNames", each.resource_names),
                ("nonResourceURLs", each.paths),
            )
            if found
        }
        for each in uncovered([Rule.of(rule) for rule in owned], [Rule.of(rule) for rule in wanted])
    ]


def _role(binding: Part) -> tuple[str, str]:
    return binding["roleRef"]["kind"], binding["roleRef"]["name"]


def _subject(subject: Part) -> tuple[str, str, str]:
    return subject["kind"], subject["name"], subject.get("namespace", "")


def _told(change: _Change, args: Namespace) -> Iterator[str]:
    if not change.word:
        return
    yield f"\treconciliation required {change.word}\n"
    word, fields = ("subjects", _SUBJECT) if "roleRef" in change.obj else ("rules", _RULE)
    for head, parts in ((f"missing {word} added", change.missing), (f"extra {word} removed", change.extra)):
        if parts:
            yield f"\t{head}:\n"
            yield from (f"\t\t{_printed(each, fields)}\n" for each in parts)


def _printed(part: Part, fields: Mapping[str, str]) -> str:
    """A rule or subject as Go prints its structure."""
    texts = []
    for shown, name in fields.items():
        value = part.get(name, "" if fields is _SUBJECT else [])
        texts.append(f"{shown}:{value if isinstance(value, str) else '[' + ' '.join(value) + ']'}")
    return "{" + " ".join(texts) + "}"
