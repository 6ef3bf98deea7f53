"""kubectl get, api-resources, auth and logs."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.meta.domain import META_GROUP, api_group
from simkit.notebook.kubectl.client import Client, KubectlError, Selected, find_resource, meant, title
from simkit.notebook.kubectl.json_paths import column_rows, in_order, template_text, values_text
from simkit.notebook.kubectl.printing import (
    columns_text,
    listed,
    object_text,
    table_rows,
    without_managed_fields,
)

_TABLE: Final = f"application/json;as=Table;v=v1;g={META_GROUP},application/json"
"""The media types of an answer as a Table, or as it is."""
_RULE_HEADS: Final = ("Resources", "Non-Resource URLs", "Resource Names", "Verbs")
_OUTPUTS: Final = ("", "wide", "yaml", "json", "name")
_TEMPLATES: Final = ("jsonpath", "jsonpath-as-json", "custom-columns")
"""Forms of output with a template after ``=``."""


def get(client: Client, args: Namespace, stdin: str) -> str:
    """Tables, names, documents or templates of objects."""
    form, _, template = args.output.partition("=")
    if form in _TEMPLATES and not template:
        raise KubectlError("error: template format specified but no template given")
    if args.output not in _OUTPUTS and form not in _TEMPLATES:
        raise KubectlError(
            f'error: unable to match a printer suitable for the output format "{args.output}", '
            f"allowed formats are: custom-columns,json,jsonpath,name,wide,yaml"
        )
    chosen = meant(client, args, stdin)
    if form in ("yaml", "json", "name", *_TEMPLATES):
        return _documents(client, chosen, args)
    return _tables(client, chosen, args)


def _query(args: Namespace) -> dict[str, str]:
    found = {"labelSelector": args.selector, "fieldSelector": args.field_selector}
    return {name: text for name, text in found.items() if text}


def _namespace(client: Client, one: Selected, args: Namespace) -> str:
    if not one.resource.namespaced or (args.all_namespaces and not one.namespace):
        return ""
    return one.namespace or client.namespace


def _tables(client: Client, chosen: list[Selected], args: Namespace) -> str:
    rows: dict[str, list[list[str]]] = {}
    errors: list[KubectlError] = []
    several = len({each.resource.group_resource for each in chosen}) > 1
    for each in chosen:
        namespace = _namespace(client, each, args)
        path = client.path(each.resource, namespace, each.name)
        try:
            query = _query(args) if not each.name else {}
            query |= {"includeObject": "Object"} if args.sort_by else {}
            answer = client.ask("GET", path, query=query, accept=_TABLE).object
        except KubectlError as error:
            if not (args.ignore_not_found and "(NotFound)" in error.text):
                errors.append(error)
            continue
        if args.sort_by and answer.get("rows"):
            places = in_order([row["object"] for row in answer["rows"]], args.sort_by, missing=())
            answer["rows"] = [answer["rows"][place] for place in places]
        kind = title(each.resource, "").rstrip("/")
        known = rows.setdefault(kind, [])
        found = table_rows(
            answer,
            wide=args.output == "wide",
            namespaces=args.all_namespaces and each.resource.namespaced,
            labels=args.show_labels,
            columns=[name for each in args.label_columns for name in each.split(",")],
            prefix=kind if several or args.show_kind else "",
            heads=not known and not args.no_headers,
        )
        known += found if len(found) > (not args.no_headers and not known) else []
    text = "\n".join(columns_text(each) for each in rows.values() if each)
    if errors:
        raise KubectlError(text + "\n".join(error.text for error in errors))
    return text or ("" if args.ignore_not_found else _nothing(client, chosen, args))


def _nothing(client: Client, chosen: list[Selected], args: Namespace) -> str:
    if args.all_namespaces or not chosen[0].resource.namespaced:
        return "No resources found\n"
    return f"No resources found in {client.namespace} namespace.\n"


def _documents(client: Client, chosen: list[Selected], args: Namespace) -> str:
    found: list[dict[str, Any]] = []
    for each in chosen:
        path = client.path(each.resource, _namespace(client, each, args), each.name)
        answer = client.ask("GET", path, query=_query(args) if not each.name else None).object
        kinds = {"apiVersion": each.resource.api_version, "kind": each.resource.kind}
        found += [answer] if each.name else [{**kinds, **item} for item in answer["items"]]
    if args.sort_by:
        found = [found[place] for place in in_order(found, args.sort_by)]
    form, _, template = args.output.partition("=")
    if form == "custom-columns":
        return columns_text(column_rows(template, found, heads=not args.no_headers))
    if args.output == "name":
        named = (client.catalogue.resource_of(obj) for obj in found)
        return "".join(f"{title(each, obj['metadata']['name'])}\n" for each, obj in zip(named, found))
    one = len(found) == 1 and bool(chosen[0].name) and not args.filename
    shown = without_managed_fields(found[0]) if one else listed(found)
    if form == "jsonpath-as-json":
        return values_text(template, shown)
    return template_text(template, shown) if form == "jsonpath" else object_text(shown, args.output)


def api_resources(client: Client, args: Namespace, stdin: str) -> str:
    """The resources that are served, by group and name."""
    found = sorted((*_preferred(client), *_aggregated(client)), key=lambda each: (each.group, each.resource))
    if args.namespaced:
        found = [each for each in found if each.namespaced is (args.namespaced == "true")]
    if args.api_group:
        found = [each for each in found if each.group == args.api_group]
    if args.categories:
        found = [each for each in found if set(args.categories.split(",")) & set(each.categories)]
    if args.verbs:
        found = [each for each in found if set(args.verbs.split(",")) <= set(each.verbs)]
    if args.output == "name":
        return "".join(f"{each.resource}.{each.group}\n" if each.group else f"{each.resource}\n" for each in found)
    heads = ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"]
    rows = [
        [each.resource, ",".join(each.short_names), each.api_version, str(each.namespaced).lower(), each.kind]
        for each in found
    ]
    if args.output == "wide":
        heads += ["VERBS", "CATEGORIES"]
        rows = [[*row, ",".join(each.verbs), ",".join(each.categories)] for row, each in zip(rows, found)]
    return columns_text(([] if args.no_headers else [heads]) + rows)


class _Served(NamedTuple):
    """A resource in the version that its server prefers."""

    resource: str
    short_names: Sequence[str]
    group: str
    api_version: str
    namespaced: bool
    kind: str
    verbs: Sequence[str]
    categories: Sequence[str]


def _preferred(client: Client) -> Iterator[_Served]:
    """The resources of this server."""
    catalogue = client.catalogue
    for resource in dict.fromkeys(each.group_resource for each in catalogue.resources()):
        each = catalogue.preferred(resource)
        if each is not None and each.verbs:
            names = each.resource, each.short_names, each.group, each.api_version
            yield _Served(*names, each.namespaced, each.kind, each.verbs, each.categories)


def _aggregated(client: Client) -> Iterator[_Served]:
    """The resources of other servers behind this one, such as the metrics of simulated nodes."""
    own = {each.group for each in client.catalogue.resources()}
    for group in client.ask("GET", "/apis").object["groups"]:
        if group["name"] in own:
            continue
        version = group["preferredVersion"]["groupVersion"]
        for each in client.ask("GET", f"/apis/{version}").object["resources"]:
            if "/" not in each["name"]:
                names = each["name"], each.get("shortNames") or (), group["name"], version
                yield _Served(*names, each["namespaced"], each["kind"], each["verbs"], each.get("categories") or ())


def can_i(client: Client, args: Namespace) -> str:
    """``yes`` or ``no``, or a list. Raises KubectlError with ``no`` and exit code 1, as the command ends."""
    if args.list:
        return _permissions(client)
    if args.quiet:
        args.quiet = False
        try:
            can_i(client, args)
        except KubectlError as error:
            raise KubectlError("" if error.text.startswith("no\n") or error.text == "no" else error.text) from None
        return ""
    if len(args.words) != 2:
        raise KubectlError(
            "error: you must specify two arguments: verb resource or verb resource/resourceName.\n"
            "See 'kubectl auth can-i -h' for help and examples."
        )
    verb, word = args.words[0], args.words[1] if len(args.words) > 1 else ""
    attributes: dict[str, Any]
    told = ""
    if word.startswith("/"):
        attributes = {"nonResourceAttributes": {"verb": verb, "path": word}}
    else:
        kind, _, name = word.partition("/")
        resource = find_resource(client.catalogue, kind) if kind != "*" else None
        asked = {"verb": verb, "resource": resource.resource if resource else kind, "name": name}
        asked |= {"group": resource.group if resource else "*" * (kind == "*"), "subresource": args.subresource}
        if resource is None and kind != "*":
            told = f"Warning: the server doesn't have a resource type '{kind}'\n\n"
        if not args.all_namespaces and (resource is None or resource.namespaced):
            asked["namespace"] = client.namespace
        if resource is not None and not resource.namespaced and not args.all_namespaces:
            group = f" in group '{resource.group}'" if resource.group else ""
            told = f"Warning: resource '{resource.resource}' is not namespace scoped{group}\n\n"
        attributes = {"resourceAttributes": {key: value for key, value in asked.items() if value}}
    group = api_group("authorization")
    kind = "SelfSubjectAccessReview"
    review = {"apiVersion": f"{group}/v1", "kind": kind, "spec": attributes}
    answer = client.ask("POST", f"/apis/{group}/v1/selfsubjectaccessreviews", review).object
    if answer["status"]["allowed"]:
        return f"yes\n{told}"
    raise KubectlError(f"no\n{told}".rstrip("\n") + ("\n" if told else ""))


def _permissions(client: Client) -> str:
    """The table of the user's permissions in the namespace."""
    group = api_group("authorization")
    review = {"apiVersion": f"{group}/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": client.namespace}}
    status = client.ask("POST", f"/apis/{group}/v1/selfsubjectrulesreviews", review).object["status"]
    rules = [*(status.get("resourceRules") or ()), *(status.get("nonResourceRules") or ())]
    told = ""
    if status.get("incomplete"):
        why = f": {status['evaluationError']}" if status.get("evaluationError") else ""
        told = f"Warning: the list may be incomplete{why}\n"
    return told + columns_text([list(_RULE_HEADS), *sorted(_rule_row(rule) for rule in rules)])


def _rule_row(rule: Mapping[str, Any]) -> list[str]:
    """The resources, URLs, names and verbs of a rule."""
    groups = rule.get("apiGroups") or [""]
    resources = [f"{each}.{group}" if group else each for each in rule.get("resources") or () for group in groups]
    parts = (resources, rule.get("nonResourceURLs"), rule.get("resourceNames"), rule.get("verbs"))
    return [" ".join(resources) if number == 0 else f"[{' '.join(part or ())}]" for number, part in enumerate(parts)]


def whoami(client: Client, args: Namespace) -> str:
    """The attributes of the user."""
    group = api_group("authentication")
    review = {"apiVersion": f"{group}/v1", "kind": "SelfSubjectReview"}
    answer = client.ask("POST", f"/apis/{group}/v1/selfsubjectreviews", review).object
    if args.output in ("yaml", "json"):
        return object_text(answer, args.output)
    user = answer["status"]["userInfo"]
    rows = [["ATTRIBUTE", "VALUE"]]
    rows += [["Username", user["username"]]] if user.get("username") else []
    rows += [["UID", user["uid"]]] if user.get("uid") else []
    rows += [["Groups", f"[{' '.join(user['groups'])}]"]] if user.get("groups") else []
    rows += [[f"Extra: {key}", f"[{' '.join(values)}]"] for key, values in sorted((user.get("extra") or {}).items())]
    return columns_text(rows)


def logs(client: Client, args: Namespace, stdin: str) -> str:
    """The log of a container of a pod on a simulated node."""
    if not args.words or ("/" in args.words[0] and args.words[0].partition("/")[0] not in ("pod", "pods", "po")):
        raise KubectlError("error: without kubectl, logs needs the name of a pod: logs POD [-c CONTAINER]")
    name = args.words[0].rpartition("/")[2]
    container = args.container or "".join(args.words[1:2])
    query = {"container": container} if container else {}
    query |= {"tailLines": args.tail} if args.tail != "-1" else {}
    query |= {word: "true" for word in ("previous", "timestamps") if getattr(args, word)}
    path = client.path(client.resource("pods"), client.namespace, name, "log")
    return client.ask("GET", path, query=query).body.decode("utf-8", "replace")


AUTH: Final[Mapping[str, Callable[[Client, Namespace], str]]] = {"can-i": can_i, "whoami": whoami}
"""The commands after ``auth``."""
