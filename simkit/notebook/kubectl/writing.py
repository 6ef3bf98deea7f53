"""kubectl create, apply, delete, patch, label, annotate, scale and rollout."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.meta.domain import RBAC_GROUP
from simkit.meta.objects import at
from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.notebook.kubectl.printing import listed, object_text, without_managed_fields
from simkit.notebook.kubectl.selection import documents, named, place_of, selected, title

_STRATEGIC: Final = "application/strategic-merge-patch+json"
_MERGE: Final = "application/merge-patch+json"
_PATCHES: Final = {"json": "application/json-patch+json", "merge": _MERGE, "strategic": _STRATEGIC}
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_APPLY: Final = "application/apply-patch+yaml"


def said(args: Namespace, done: Sequence[tuple[str, str, Mapping[str, Any]]]) -> str:
    """The result for each object: a line, or the object in the form of ``--output``."""
    if args.output in ("yaml", "json"):
        shown = [each for _, _, each in done]
        return object_text(without_managed_fields(shown[0]) if len(shown) == 1 else listed(shown), args.output)
    if args.output == "name":
        return "".join(f"{name}\n" for name, _, _ in done)
    mode = " (server dry run)" if args.dry_run == "server" else ""
    return "".join(f"{name} {what}{mode}\n" for name, what, _ in done)


def query_of(args: Namespace, **more: str) -> dict[str, str]:
    return more | ({"dryRun": "All"} if args.dry_run == "server" else {})


def create(client: Client, args: Namespace, stdin: str) -> str:
    """Objects of files, or one that the words describe."""
    objects = documents(client, args.filename, stdin) if args.filename else [_described(args)]
    done = []
    for obj in objects:
        resource, namespace, name = place_of(client, obj)
        query = query_of(args, fieldManager="kubectl-create", fieldValidation="Strict")
        try:
            answer = client.ask("POST", client.path(resource, namespace), obj, query=query).object
        except KubectlError as error:
            if args.filename:
                raise
            told = error.text.partition(": ")[2]
            raise KubectlError(f"error: failed to create {resource.kind.lower()}: {told}") from None
        done.append((title(resource, name or answer["metadata"]["name"]), "created", answer))
    return said(args, done)


def _described(args: Namespace) -> dict[str, Any]:
    """The object of ``create KIND NAME`` with its flags."""
    if len(args.words) < 2:
        raise KubectlError("error: must specify one of -f and -k")
    kind, name, literals = args.words[0], args.words[-1], _literals(args)
    head = {"metadata": {"name": name}}
    plain = {"ns": "namespace", "cm": "configmap", "sa": "serviceaccount", "deploy": "deployment"}
    kind = plain.get(kind, kind)
    if kind == "namespace":
        return {"apiVersion": "v1", "kind": "Namespace", **head}
    if kind == "serviceaccount":
        return {"apiVersion": "v1", "kind": "ServiceAccount", **head}
    if kind == "configmap":
        return {"apiVersion": "v1", "kind": "ConfigMap", **head, **({"data": literals} if literals else {})}
    if kind == "secret":
        return {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", **head, "stringData": literals}
    if kind == "deployment":
        return _deployment(name, args)
    if kind in ("role", "clusterrole"):
        return _role(kind, name, args)
    if kind in ("rolebinding", "clusterrolebinding"):
        return _binding(kind, name, args)
    raise KubectlError(f'error: unknown kind "{kind}" for create; use -f')


def _literals(args: Namespace) -> dict[str, str]:
    pairs = [each.partition("=") for each in args.from_literal]
    return {name: value for name, _, value in pairs}


def _deployment(name: str, args: Namespace) -> dict[str, Any]:
    labels = {"app": name}
    containers = [{"name": image.rpartition("/")[2].partition(":")[0], "image": image} for image in args.image]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    spec = {"replicas": int(args.replicas or 1), "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "labels": labels}, "spec": spec}


def _role(kind: str, name: str, args: Namespace) -> dict[str, Any]:
    groups: dict[str, list[str]] = {}
    for word in (part for each in args.resource for part in each.split(",")):
        resource, _, group = word.partition(".")
        groups.setdefault(group, []).append(resource)
    verbs = [part for each in args.verb for part in each.split(",")]
    names = {"resourceNames": list(args.resource_name)} if args.resource_name else {}
    rules = [{"apiGroups": [group], "resources": each, **names, "verbs": verbs} for group, each in groups.items()]
    shown = "Role" if kind == "role" else "ClusterRole"
    return {"apiVersion": f"{RBAC_GROUP}/v1", "kind": shown, "metadata": {"name": name}, "rules": rules}


def _binding(kind: str, name: str, args: Namespace) -> dict[str, Any]:
    role = ("ClusterRole", args.clusterrole) if args.clusterrole else ("Role", args.role)
    subjects: list[dict[str, str]] = []
    for word, names in (("User", args.user), ("Group", args.group)):
        subjects += [{"kind": word, "apiGroup": RBAC_GROUP, "name": each} for each in names]
    for account in args.serviceaccount:
        namespace, _, own = account.partition(":")
        subjects.append({"kind": "ServiceAccount", "namespace": namespace, "name": own})
    shown = "RoleBinding" if kind == "rolebinding" else "ClusterRoleBinding"
    reference = {"apiGroup": RBAC_GROUP, "kind": role[0], "name": role[1]}
    head = {"apiVersion": f"{RBAC_GROUP}/v1", "kind": shown, "metadata": {"name": name}}
    return {**head, "roleRef": reference, "subjects": subjects}


def apply(client: Client, args: Namespace, stdin: str) -> str:
    """Objects of files as they are wanted.

    Without ``--server-side`` the outcome is told as kubectl's client-side apply does, and the configuration is kept in
    its annotation; fields are owned as in server-side apply, so that what leaves the configuration is removed.
    """
    done = []
    for obj in documents(client, args.filename or ["-"], stdin):
        resource, namespace, name = place_of(client, obj)
        path = client.path(resource, namespace, name)
        before = _live(client, path)
        manager = "kubectl" if args.server_side else "kubectl-client-side-apply"
        force = "true" if args.force_conflicts or not args.server_side else "false"
        wanted = obj if args.server_side else _annotated(obj, namespace)
        query = query_of(args, fieldManager=manager, force=force, fieldValidation="Strict")
        answer = client.ask("PATCH", path, wanted, query=query, media=_APPLY).object
        if args.server_side:
            what = "serverside-applied"
        elif before is None:
            what = "created"
        else:
            same = before["metadata"]["resourceVersion"] == answer["metadata"]["resourceVersion"]
            what = "unchanged" if same else "configured"
        done.append((title(resource, name), what, answer))
    return said(args, done)


def _live(client: Client, path: str) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = client.ask("GET", path).object
    except KubectlError as error:
        if "(NotFound)" in error.text:
            return None
        raise
    return found


def _annotated(obj: dict[str, Any], namespace: str) -> dict[str, Any]:
    """The object with its configuration in the annotation of client-side apply."""
    data = dict(obj.get("metadata") or {})
    kept = {key: value for key, value in (data.get("annotations") or {}).items() if key != _LAST_APPLIED}
    data |= {"namespace": namespace} if namespace else {}
    last = {**obj, "metadata": {**data, "annotations": kept}}
    text = json.dumps(last, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
    return {**obj, "metadata": {**data, "annotations": {**kept, _LAST_APPLIED: text}}}


def delete(client: Client, args: Namespace, stdin: str) -> str:
    """Objects of files, by name, by selector or all of a kind."""
    if args.filename:
        chosen = [place_of(client, obj) for obj in documents(client, args.filename, stdin)]
    else:
        chosen = named(client, args)
    lines, errors = "", ""
    mode = " (server dry run)" if args.dry_run == "server" else ""
    for resource, namespace, name in chosen:
        try:
            client.ask("DELETE", client.path(resource, namespace, name), query=query_of(args))
        except KubectlError as error:
            errors += f"{error.text}\n"
            continue
        group = f".{resource.group}" if resource.group else ""
        lines += f'{resource.kind.lower()}{group} "{name}" deleted{mode}\n'
    if errors:
        raise KubectlError((lines + errors).removesuffix("\n"))
    return lines or "No resources found\n"


def patch(client: Client, args: Namespace) -> str:
    """One object with a patch."""
    [one] = selected(client, args.words)
    try:
        body = json.loads(args.patch)
    except ValueError:
        from simkit.language.yaml.decode import decode

        body = decode(args.patch)
    path = client.path(one.resource, client.namespace, one.name, args.subresource)
    form = args.type or "strategic"
    if form not in _PATCHES:
        raise KubectlError(f'error: --type must be one of [json merge strategic], not "{form}"')
    before = client.ask("GET", path).object
    media = _MERGE if one.resource.custom and form == "strategic" else _PATCHES[form]
    query = query_of(args, fieldManager="kubectl-patch")
    answer = client.ask("PATCH", path, body, query=query, media=media).object
    same = before["metadata"]["resourceVersion"] == answer["metadata"]["resourceVersion"]
    what = "patched (no change)" if same else "patched"
    return said(args, [(title(one.resource, one.name), what, answer)])


def label(client: Client, args: Namespace, field: str = "labels", word: str = "labeled") -> str:
    """Labels of objects, set with ``key=value`` and removed with ``key-``."""
    changes = [each for each in args.words if "=" in each or each.endswith("-")]
    chosen = selected(client, [each for each in args.words if each not in changes])
    if not changes:
        raise KubectlError(f"error: at least one {field.removesuffix('s')} update is required")
    wanted: dict[str, str | None] = {}
    for each in changes:
        name, _, value = each.partition("=")
        wanted[each[:-1] if "=" not in each else name] = value if "=" in each else None
    done = []
    for one in chosen:
        path = client.path(one.resource, client.namespace, one.name)
        live = client.ask("GET", path).object
        known = live["metadata"].get(field) or {}
        _check_overwrite(known, wanted, args, field)
        gone = [name for name, value in wanted.items() if value is None]
        same = all(known.get(name) == value for name, value in wanted.items())
        answer = live
        if not same:
            body = {"metadata": {field: wanted}}
            answer = client.ask(
                "PATCH", path, body, query=query_of(args, fieldManager=f"kubectl-{word[:-2]}"), media=_MERGE
            ).object
        verb = word if word == "annotated" or same or len(gone) < len(wanted) else "unlabeled"
        if same and word == "labeled":
            verb = "not labeled"
        done.append((title(one.resource, one.name), verb, answer))
    return said(args, done)


def _check_overwrite(known: Mapping[str, str], wanted: Mapping[str, str | None], args: Namespace, field: str) -> None:
    if args.overwrite:
        return
    for name, value in wanted.items():
        if value is not None and known.get(name, value) != value:
            text = f"'{name}' already has a value ({known[name]})"
            if field == "labels":
                raise KubectlError(f"error: {text}, and --overwrite is false")
            raise KubectlError(f"error: --overwrite is false but found the following declared annotation(s): {text}")


def annotate(client: Client, args: Namespace) -> str:
    """Annotations of objects."""
    return label(client, args, "annotations", "annotated")


def scale(client: Client, args: Namespace) -> str:
    """The number of replicas."""
    done = []
    for one in selected(client, args.words):
        path = client.path(one.resource, client.namespace, one.name, "scale")
        body = {"spec": {"replicas": int(args.replicas)}}
        answer = client.ask("PATCH", path, body, query=query_of(args, fieldManager="kubectl"), media=_MERGE).object
        done.append((title(one.resource, one.name), "scaled", answer))
    return said(args, done)


def rollout(client: Client, args: Namespace) -> str:
    """``rollout status`` of a deployment, as it stands now."""
    if args.words[0] != "status":
        raise KubectlError(f'error: unknown rollout command "{args.words[0]}"; status is known')
    [one] = selected(client, args.words[1:])
    obj = client.ask("GET", client.path(one.resource, client.namespace, one.name)).object
    wanted, status = at(obj, "spec", "replicas") or 0, obj.get("status") or {}
    updated, available = status.get("updatedReplicas", 0), status.get("availableReplicas", 0)
    head = f'Waiting for deployment "{one.name}" rollout to finish: '
    if updated < wanted:
        return f"{head}{updated} out of {wanted} new replicas have been updated...\n"
    if status.get("replicas", 0) > updated:
        return f"{head}{status['replicas'] - updated} old replicas are pending termination...\n"
    if available < updated:
        return f"{head}{available} of {updated} updated replicas are available...\n"
    return f'deployment "{one.name}" successfully rolled out\n'
