"""kubectl config and kubectl version: a cluster in this process is the one context.

Upstream: k8s.io/kubectl/pkg/cmd/config and k8s.io/kubectl/pkg/cmd/version, release 1.32.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.notebook.kubectl.json_paths import template_text
from simkit.notebook.kubectl.printing import columns_text, json_text, yaml_text

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster

CONTEXT: Final = "simkit"
USER: Final = "simkit-admin"
_CLIENT: Final = {"major": "1", "minor": "32", "gitVersion": "v1.32.5"}
_KUSTOMIZE: Final = "v5.5.0"
"""The kubectl whose output is printed."""
_namespaces: WeakKeyDictionary[Cluster, str] = WeakKeyDictionary()
"""The namespace of the context, for clusters where one was set."""


def namespace_of(cluster: Cluster) -> str:
    """The namespace of commands without ``-n``, as ``config set-context`` set it; empty if it did not."""
    return _namespaces.get(cluster, "")


def config(client: Client, args: Namespace) -> str:
    """The contexts that a client configuration of this cluster would have. Raises KubectlError for other changes.

    ``config set-context --current --namespace=NAME`` holds for the commands that follow on this cluster.
    """
    word, *names = args.words or [""]
    if word not in _WORDS:
        raise KubectlError(
            f'error: "config {word}" changes a file, and a cluster in this process has none; '
            f"known: config {', '.join(_WORDS)}; next: cluster.serve(kubeconfig=...) writes one"
        )
    return _WORDS[word](client, names, args)


def _set_context(client: Client, names: list[str], args: Namespace) -> str:
    if not (args.current or names == [CONTEXT]):
        raise KubectlError(f"error: the cluster of this cell is the one context; next: --current, or {CONTEXT}")
    if args.namespace:
        _namespaces[client.cluster] = args.namespace
    return f'Context "{CONTEXT}" modified.\n'


def _use_context(client: Client, names: list[str], args: Namespace) -> str:
    if names != [CONTEXT]:
        raise KubectlError(f'error: no context exists with the name: "{" ".join(names)}"')
    return f'Switched to context "{CONTEXT}".\n'


def _contexts(client: Client, names: list[str], args: Namespace) -> str:
    if names not in ([], [CONTEXT]):
        raise KubectlError(f"error: context {names[0]} not found")
    if args.output == "name":
        return f"{CONTEXT}\n"
    heads = [] if args.no_headers else [["CURRENT", "NAME", "CLUSTER", "AUTHINFO", "NAMESPACE"]]
    return columns_text([*heads, ["*", CONTEXT, CONTEXT, USER, namespace_of(client.cluster)]])


def _view(client: Client, names: list[str], args: Namespace) -> str:
    namespace = namespace_of(client.cluster)
    context = {"cluster": CONTEXT, "user": USER, **({"namespace": namespace} if namespace else {})}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": CONTEXT, "cluster": {}}],
        "contexts": [{"name": CONTEXT, "context": context}],
        "current-context": CONTEXT,
        "preferences": {},
        "users": [{"name": USER, "user": {}}],
    }
    form, _, template = args.output.partition("=")
    if form == "jsonpath":
        return template_text(template, document)
    return json_text(document) if form == "json" else yaml_text(document)


_WORDS: Final[Mapping[str, Callable[[Client, list[str], Namespace], str]]] = {
    "current-context": lambda *_: f"{CONTEXT}\n",
    "get-clusters": lambda *_: f"NAME\n{CONTEXT}\n",
    "get-contexts": _contexts,
    "get-users": lambda *_: f"NAME\n{USER}\n",
    "set-context": _set_context,
    "use-context": _use_context,
    "view": _view,
}


def version(client: Client, args: Namespace) -> str:
    """The version of the kubectl whose output is printed, and that of the server."""
    if args.output not in ("", "yaml", "json"):
        raise KubectlError("error: --output must be 'yaml' or 'json'")
    versions: dict[str, Any] = {"clientVersion": _CLIENT, "kustomizeVersion": _KUSTOMIZE}
    warning = ""
    if not args.client:
        server = client.ask("GET", "/version").object
        versions["serverVersion"] = server
        own, other = (f"{each['major']}.{each['minor'].rstrip('+')}" for each in (_CLIENT, server))
        if abs(int(_CLIENT["minor"]) - int(server["minor"].rstrip("+"))) > 1:
            warning = (
                f"WARNING: version difference between client ({own}) and server ({other}) exceeds the supported minor "
                "version skew of +/-1\n"
            )
    if args.output:
        return (yaml_text(versions) if args.output == "yaml" else json_text(versions)) + (warning and f"\n{warning}")
    text = f"Client Version: {_CLIENT['gitVersion']}\nKustomize Version: {_KUSTOMIZE}\n"
    if "serverVersion" in versions:
        text += f"Server Version: {versions['serverVersion']['gitVersion']}\n"
    return text + warning
