"""kubectl create, apply, delete, patch, label and annotate; and wait, for conditions that controllers reach.

Upstream: k8s.io/kubectl/pkg/cmd/wait, release 1.32.
"""

from __future__ import annotations

import json
import time
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from simkit.meta.clock import SystemClock
from simkit.meta.domain import LAST_APPLIED
from simkit.meta.duration import nanoseconds
from simkit.meta.go_fmt import format_value
from simkit.notebook.kubectl.client import Client, KubectlError, documents, named, place_of, selected, title
from simkit.notebook.kubectl.json_paths import relaxed, values_at
from simkit.notebook.kubectl.printing import listed, object_text, without_managed_fields
from simkit.schema.resources import Resource

_STRATEGIC: Final = "application/strategic-merge-patch+json"
_MERGE: Final = "application/merge-patch+json"
_PATCHES: Final = {"json": "application/json-patch+json", "merge": _MERGE, "strategic": _STRATEGIC}
_NOTHING_TO_DELETE: Final = """error: You must provide one or more resources by argument or filename.
Example resource specifications include:
   '-f rsrc.yaml'
   '--filename=rsrc.json'
   '<resource> <name>'
   '<resource>'"""
_APPLY: Final = "application/apply-patch+yaml"


def said(args: Namespace, done: Sequence[tuple[str, str, Mapping[str, Any]]]) -> str:
    """The result for each object: a line, or the object in the form of ``--output``."""
    if args.output in ("yaml", "json"):
        shown = [each for _, _, each in done]
        return object_text(without_managed_fields(shown[0]) if len(shown) == 1 else listed(shown), args.output)
    if args.output == "name":
        return "".join(f"{name}\n" for name, _, _ in done)
    return "".join(f"{name} {what}{mode_of(args)}\n" for name, what, _ in done)


def mode_of(args: Namespace) -> str:
    """The words after a result that was not stored."""
    return {"server": " (server dry run)", "client": " (dry run)"}.get(args.dry_run, "")


def query_of(args: Namespace, **more: str) -> dict[str, str]:
    """The parameters of a write. A dry run of the client asks the server for one too, so that nothing is stored."""
    if args.dry_run not in ("", "none", "client", "server"):
        raise KubectlError(f'error: Invalid dry-run value ({args.dry_run}). Must be "none", "server", or "client".')
    return more | ({"dryRun": "All"} if args.dry_run in ("client", "server") else {})


def create(client: Client, args: Namespace, stdin: str) -> str:
    """Objects of files."""
    if not args.filename:
        raise KubectlError("error: without kubectl, create needs files: create -f FILE, or -f - for the cell")
    done = []
    for obj in documents(client, args.filename, stdin):
        resource, namespace, name = place_of(client, obj)
        query = query_of(args, fieldManager="kubectl-create", fieldValidation="Strict")
        try:
            answer = client.ask("POST", client.path(resource, namespace), obj, query=query).object
        except KubectlError as error:
            raise _of_file(error) from None
        done.append((title(resource, name or answer["metadata"]["name"]), "created", answer))
    return said(args, done)


def _of_file(error: KubectlError) -> KubectlError:
    """The error of a creation from a file, which names the file."""
    head, colon, rest = error.text.partition("): ")
    return KubectlError(f'{head}): error when creating "STDIN": {rest}') if colon else error


def apply(client: Client, args: Namespace, stdin: str) -> str:
    """Objects of files as they are wanted.

    Without ``--server-side`` the outcome is told as kubectl's client-side apply does, and the configuration is kept in
    its annotation; fields are owned as in server-side apply, so that what leaves the configuration is removed.
    """
    done = []
    for obj in documents(client, args.filename or ["-"], stdin):
        resource, namespace, name = place_of(client, obj)
        path = client.path(resource, namespace, name)
        before = client.live(path)
        manager = "kubectl" if args.server_side else "kubectl-client-side-apply"
        force = "true" if args.force_conflicts or not args.server_side else "false"
        wanted = obj if args.server_side else annotated(obj, namespace)
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


def annotated(obj: dict[str, Any], namespace: str) -> dict[str, Any]:
    """The object with its configuration in the annotation of client-side apply."""
    data = dict(obj.get("metadata") or {})
    kept = {key: value for key, value in (data.get("annotations") or {}).items() if key != LAST_APPLIED}
    data |= {"namespace": namespace} if namespace else {}
    last = {**obj, "metadata": {**data, "annotations": kept}}
    text = json.dumps(last, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
    return {**obj, "metadata": {**data, "annotations": {**kept, LAST_APPLIED: text}}}


def delete(client: Client, args: Namespace, stdin: str) -> str:
    """Objects of files, by name, by selector or all of a kind."""
    if not (args.filename or args.words):
        raise KubectlError(_NOTHING_TO_DELETE)
    if args.filename:
        chosen = [place_of(client, obj) for obj in documents(client, args.filename, stdin)]
    else:
        chosen = named(client, args)
    lines, errors = "", ""
    for resource, namespace, name in chosen:
        try:
            client.ask("DELETE", client.path(resource, namespace, name), query=query_of(args))
        except KubectlError as error:
            if not (args.ignore_not_found and "(NotFound)" in error.text):
                errors += f"{error.text}\n"
            continue
        group = f".{resource.group}" if resource.group else ""
        lines += f'{resource.kind.lower()}{group} "{name}" deleted{mode_of(args)}\n'
    if errors:
        raise KubectlError((lines + errors).removesuffix("\n"))
    return lines or ("" if args.ignore_not_found else "No resources found\n")


def patch(client: Client, args: Namespace, stdin: str) -> str:
    """One object with a patch."""
    [one] = selected(client, args.words)
    if not args.patch:
        raise KubectlError("error: must specify --patch or --patch-file containing the contents of the patch")
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


def label(client: Client, args: Namespace, stdin: str, field: str = "labels", word: str = "labeled") -> str:
    """Labels of objects, set with ``key=value`` and removed with ``key-``."""
    changes = [each for each in args.words if "=" in each or each.endswith("-")]
    args.words = [each for each in args.words if each not in changes]
    chosen = named(client, args)
    if args.list and not changes:
        return "".join(_listed(client, field, *each) for each in chosen)
    if not changes:
        raise KubectlError(f"error: at least one {field.removesuffix('s')} update is required")
    wanted: dict[str, str | None] = {}
    for each in changes:
        name, _, value = each.partition("=")
        wanted[each[:-1] if "=" not in each else name] = value if "=" in each else None
    done, told = [], ""
    for resource, namespace, own_name in chosen:
        path = client.path(resource, namespace, own_name)
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
        told += "".join(f'label "{name}" not found.\n' for name in gone if word == "labeled" and name not in known)
        done.append((title(resource, own_name), verb, answer))
    return told + said(args, done)


def _listed(client: Client, field: str, resource: Resource, namespace: str, name: str) -> str:
    known = client.ask("GET", client.path(resource, namespace, name)).object["metadata"].get(field) or {}
    return "".join(f"{key}={text}\n" for key, text in sorted(known.items()))


def _check_overwrite(known: Mapping[str, str], wanted: Mapping[str, str | None], args: Namespace, field: str) -> None:
    if args.overwrite:
        return
    for name, value in wanted.items():
        if value is not None and known.get(name, value) != value:
            text = f"'{name}' already has a value ({known[name]})"
            if field == "labels":
                raise KubectlError(f"error: {text}, and --overwrite is false")
            raise KubectlError(f"error: --overwrite is false but found the following declared annotation(s): {text}")


def annotate(client: Client, args: Namespace, stdin: str) -> str:
    """Annotations of objects."""
    return label(client, args, stdin, "annotations", "annotated")


_STEP: Final = 1.0
"""Seconds by which a simulated clock is turned between two looks."""
_PAUSE: Final = 0.05
"""Seconds between two looks where the clock is the machine's."""
Reached = Callable[[Mapping[str, Any] | None], bool]


def wait(client: Client, args: Namespace, stdin: str) -> str:
    """A line for each object that reached the condition of ``--for``.

    A simulated clock is turned by up to ``--timeout``; else that time is waited for. Raises KubectlError at the end.
    """
    reached = _condition(args.for_)
    seconds = _seconds(args.timeout)
    found = named(client, args)
    if not found and args.for_ != "delete":
        raise KubectlError("error: no matching resources found")
    text, errors = "", ""
    for resource, namespace, name in found:
        path = client.path(resource, namespace, name)
        if args.for_ not in ("delete", "create") and client.live(path) is None:
            client.ask("GET", path)  # raises with the server's message
        if args.for_ == "delete" and client.live(path) is None:
            continue
        if _comes(client, path, reached, seconds):
            text += f"{title(resource, name)} condition met\n"
        elif not seconds:
            errors += f"error: condition not met for {resource.resource}/{name}\n"
        else:
            errors += f"error: timed out waiting for the condition on {resource.resource}/{name}\n"
    if errors:
        raise KubectlError((text + errors).removesuffix("\n"))
    return text


def _seconds(text: str) -> float:
    """The seconds of a duration such as ``30s``. Raises KubectlError for another text."""
    try:
        return nanoseconds(text or "30s") / 1e9
    except ValueError:
        raise KubectlError(f'error: invalid argument "{text}" for "--timeout" flag; next: --timeout=30s') from None


def _comes(client: Client, path: str, reached: Reached, seconds: float) -> bool:
    """True if a condition holds before the time is over."""
    clock, waited = client.cluster.clock, 0.0
    while True:
        client.cluster.settle()
        if reached(client.live(path)):
            return True
        if waited >= seconds:
            return False
        if isinstance(clock, SystemClock):
            time.sleep(_PAUSE)
            waited += _PAUSE
        else:
            client.cluster.advance(_STEP)
            waited += _STEP


def _condition(wanted: str) -> Reached:
    """The condition that ``--for`` states. Raises KubectlError for a form that is not known."""
    form, _, rest = wanted.partition("=")
    if wanted == "delete":
        return lambda obj: obj is None
    if wanted == "create":
        return lambda obj: obj is not None
    if form == "condition" and rest:
        kind, _, status = rest.partition("=")
        return lambda obj: _has(obj, kind, status or "true")
    if form == "jsonpath" and rest:
        path, _, value = rest.rpartition("}=") if "}=" in rest else (rest.rstrip("}"), "", None)
        steps = relaxed(path.lstrip("{"))
        return lambda obj: _is_at(obj, steps, value)
    raise KubectlError(
        f'error: unrecognized condition: "{wanted}"; next: --for=condition=Ready, --for=delete, --for=create or '
        f"--for=jsonpath='{{.status.phase}}'=Running"
    )


def _has(obj: Mapping[str, Any] | None, kind: str, status: str) -> bool:
    conditions = ((obj or {}).get("status") or {}).get("conditions") or ()
    return any(
        each["type"].lower() == kind.lower() and str(each.get("status", "")).lower() == status.lower()
        for each in conditions
    )


def _is_at(obj: Mapping[str, Any] | None, path: str, value: str | None) -> bool:
    found = values_at(obj or {}, path, "error parsing jsonpath")
    if value is None:
        return bool(found)
    return len(found) == 1 and format_value(found[0]) == value.strip("'\"")
