"""The revisions of a workload, and the way back to one: kubectl rollout history and undo.

Upstream: k8s.io/kubectl/pkg/polymorphichelpers (history.go, rollback.go), release 1.32.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from simkit.meta.domain import label
from simkit.meta.integers import parse_int
from simkit.meta.objects import Object, at
from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.notebook.kubectl.description.pods import template_lines
from simkit.notebook.kubectl.selection import selected, title
from simkit.notebook.kubectl.tab_writer import tabbed
from simkit.notebook.kubectl.writing import query_of, said

_REVISION: Final = label("revision", "deployment")
_CAUSE: Final = label("change-cause")
_HASH: Final = "pod-template-hash"
_KEPT: Final = ("Deployment", "StatefulSet", "DaemonSet")
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_JSON: Final = "application/json-patch+json"


class _Revision(NamedTuple):
    """A template that a workload had, with the object that keeps it."""

    template: Mapping[str, Any]
    keeper: Mapping[str, Any]

    @property
    def cause(self) -> str:
        return str(at(self.keeper, "metadata", "annotations", _CAUSE) or "<none>")


def history(client: Client, args: Namespace) -> str:
    """``rollout history``: the revisions of workloads, or the template of ``--revision``."""
    text = ""
    for one in selected(client, args.words):
        live = client.ask("GET", client.path(one.resource, client.namespace, one.name)).object
        if live["kind"] not in _KEPT:
            raise KubectlError(f'error: no history viewer has been implemented for "{live["kind"]}"')
        known, name = _revisions(client, live), title(one.resource, one.name)
        if args.revision:
            chosen = known.get(_number(args.revision, "--revision"))
            if chosen is None:
                raise KubectlError("error: unable to find the specified revision")
            told = "\n".join(template_lines(chosen.template))
            text += f"{name} with revision #{args.revision}\n{told}\n\n"
        else:
            rows = "".join(f"{number}\t{known[number].cause}\n" for number in sorted(known))
            text += f"{name} \n{tabbed(f'REVISION{chr(9)}CHANGE-CAUSE{chr(10)}{rows}')}\n"
    return text


def undo(client: Client, args: Namespace) -> str:
    """``rollout undo``: the template of the revision before, or of ``--to-revision``."""
    done = []
    for one in selected(client, args.words):
        path = client.path(one.resource, client.namespace, one.name)
        live = client.ask("GET", path).object
        if live["kind"] not in _KEPT:
            raise KubectlError(f'error: no rollbacker has been implemented for "{live["kind"]}"')
        number, chosen = _target(live, _revisions(client, live), _number(args.to_revision or "0", "--to-revision"))
        if _same(live, chosen.template):
            told = f"skipped rollback (current template already matches revision {number})"
            done.append((title(one.resource, one.name), told, live))
            continue
        body: Any = chosen.keeper.get("data")
        media = _STRATEGIC
        if live["kind"] == "Deployment":
            body, media = [{"op": "replace", "path": "/spec/template", "value": _plain(chosen.template)}], _JSON
        query = query_of(args, fieldManager="kubectl-rollout")
        answer = client.ask("PATCH", path, body, query=query, media=media).object
        done.append((title(one.resource, one.name), "rolled back", answer))
    return said(args, done)


def _target(live: Object, known: Mapping[int, _Revision], wanted: int) -> tuple[int, _Revision]:
    """The revision that is meant; without a number that before the last."""
    kind = live["kind"].lower()
    if live["spec"].get("paused"):
        raise KubectlError(
            "error: you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume' "
            "and try again"
        )
    if wanted:
        if wanted not in known:
            raise KubectlError(f"error: unable to find specified revision {wanted} in history")
        return wanted, known[wanted]
    before = sorted(known)[-2:-1]
    if not before:
        name = live["metadata"]["name"]
        told = f'no rollout history found for {kind} "{name}"'
        raise KubectlError(f"error: {told if kind == 'deployment' else 'no last revision to roll back to'}")
    return before[0], known[before[0]]


def _revisions(client: Client, live: Object) -> dict[int, _Revision]:
    """The templates that a workload has had, by number."""
    is_deployment = live["kind"] == "Deployment"
    keepers = client.resource("replicasets.apps" if is_deployment else "controllerrevisions.apps")
    items = client.ask("GET", client.path(keepers, client.namespace)).object["items"]
    uid, found = at(live, "metadata", "uid"), {}
    for each in items:
        if all(owner.get("uid") != uid for owner in each["metadata"].get("ownerReferences") or ()):
            continue
        if is_deployment:
            number = parse_int(at(each, "metadata", "annotations", _REVISION) or "") or 0
            found[number] = _Revision(each["spec"]["template"], each)
        else:
            template = {key: value for key, value in each["data"]["spec"]["template"].items() if key != "$patch"}
            found[int(each["revision"])] = _Revision(template, each)
    return {number: each for number, each in found.items() if number}


def _plain(template: Mapping[str, Any]) -> dict[str, Any]:
    """The template of a replica set as its deployment had it: without the label of its hash."""
    data = template.get("metadata") or {}
    labels = {name: text for name, text in (data.get("labels") or {}).items() if name != _HASH}
    return {**template, "metadata": {**data, "labels": labels}}


def _same(live: Object, template: Mapping[str, Any]) -> bool:
    return _plain(live["spec"]["template"]) == _plain(template)


def _number(text: str, flag: str) -> int:
    if not text.isdecimal():
        raise KubectlError(f'error: invalid argument "{text}" for "{flag}" flag: it is not a number')
    return int(text)
