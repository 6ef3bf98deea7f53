"""kubectl set subject and set selector: whom a binding means, and which pods a service.

Upstream: set_subject.go and set_selector.go in k8s.io/kubectl/pkg/cmd/set, release 1.32.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.meta.domain import RBAC_GROUP
from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.notebook.kubectl.selection import named, title
from simkit.notebook.kubectl.writing import query_of, said

_STRATEGIC: Final = "application/strategic-merge-patch+json"
_MERGE: Final = "application/merge-patch+json"


def set_subject(client: Client, args: Namespace, words: Sequence[str]) -> str:
    """A line for each binding that got subjects; none for those that had them all."""
    args.words, done = list(words), []
    chosen = named(client, args)
    lives = [client.ask("GET", client.path(*each)).object for each in chosen]
    wanted = list(_subjects(args))
    if not wanted:
        raise KubectlError("error: you must specify at least one value of user, group or serviceaccount")
    for (resource, namespace, name), live in zip(chosen, lives):
        if resource.group != RBAC_GROUP or "roleRef" not in live:
            raise KubectlError(
                f"error: {resource.resource}/{name} setting subjects is only supported for "
                "RoleBinding/ClusterRoleBinding"
            )
        present = live.get("subjects") or []
        missing = [each for each in wanted if each not in present]
        if not missing:
            continue
        patch = {"subjects": [*present, *missing]}
        query = query_of(args, fieldManager="kubectl-set")
        answer = client.ask("PATCH", client.path(resource, namespace, name), patch, query=query, media=_MERGE).object
        done.append((title(resource, name), "subjects updated", answer))
    return said(args, done)


def _subjects(args: Namespace) -> Iterator[dict[str, Any]]:
    for kind, names in (("User", args.user), ("Group", args.group)):
        for name in dict.fromkeys(part for each in names for part in each.split(",")):
            yield {"apiGroup": RBAC_GROUP, "kind": kind, "name": name}
    for account in dict.fromkeys(args.serviceaccount):
        namespace, colon, name = account.partition(":")
        if not (namespace and colon and name):
            raise KubectlError("error: serviceaccount must be <namespace>:<name>")
        yield {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def set_selector(client: Client, args: Namespace, words: Sequence[str]) -> str:
    """A line for each service whose selector was set."""
    *kinds, selector = words or [""]
    if "=" not in selector or len(kinds) < 1:
        if " in " not in selector and " notin " not in selector:
            raise KubectlError("error: resource(s) were provided, but no name was specified")
        raise KubectlError(f"error: a service has no set of values in its selector: {selector!r}; next: KEY=VALUE")
    labels = dict(each.split("=", 1) for each in selector.split(",") if "=" in each)
    args.words, args.selector, done = kinds, "", []
    for resource, namespace, name in named(client, args):
        path = client.path(resource, namespace, name)
        live = client.ask("GET", path).object
        if (resource.group, resource.kind) != ("", "Service"):
            raise KubectlError("error: setting a selector is only supported for Services")
        gone = dict.fromkeys(each for each in (live["spec"].get("selector") or {}) if each not in labels)
        patch = {"spec": {"selector": {**gone, **labels}}}
        query = query_of(args, fieldManager="kubectl-set")
        answer = client.ask("PATCH", path, patch, query=query, media=_STRATEGIC).object
        done.append((title(resource, name), "selector updated", answer))
    return said(args, done)
