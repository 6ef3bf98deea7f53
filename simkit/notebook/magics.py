"""Magics of IPython: ``%load_ext simkit`` gives ``%kubectl``, ``%%kubectl``, ``%%apply`` and completion."""

from __future__ import annotations

import shlex
from typing import Any, Final

from IPython.core.magic import Magics, cell_magic, line_cell_magic, magics_class

from simkit.analysis.access.resolve import REQUEST_VERBS
from simkit.cluster.cluster import Cluster
from simkit.meta.errors import SimkitError
from simkit.notebook.kubectl.client import find_resource
from simkit.notebook.kubectl.command import COMMANDS, Printed, kubectl
from simkit.notebook.suggestions import may_be_suggested

MOST: Final = 200
"""The most words that are offered."""
_FLAGS: Final = ("--namespace", "--output", "--selector", "--all-namespaces", "--as", "--show-labels")
_NESTED: Final = {"auth": ("can-i", "whoami"), "rollout": ("status",)}
_OUTPUTS: Final = ("wide", "yaml", "json", "name")


def completions(cluster: Cluster, line: str, begun: str) -> list[str]:
    """The words that may follow in a line such as ``%kubectl get po``, of which ``begun`` is begun.

    Examples
    --------
    >>> import simkit
    >>> completions(simkit.Cluster(seed=1), "%kubectl get ns -n kube-p", "kube-p")
    ['kube-public']
    """
    words = line.split()[1:]
    done = words[:-1] if begun and words and line.endswith(words[-1]) else words
    found = (word for word in _offered(cluster, done, begun) if word.startswith(begun))
    return sorted(dict.fromkeys(found))[:MOST]


def _offered(cluster: Cluster, done: list[str], begun: str) -> list[str]:
    if done and done[-1] in ("-n", "--namespace"):
        return _names(cluster, "namespaces", "")
    if done and done[-1] in ("-o", "--output"):
        return list(_OUTPUTS)
    if begun.startswith("-"):
        return list(_FLAGS)
    plain, namespace = _plain(done)
    if not plain:
        return list(COMMANDS)
    if plain[0] in _NESTED and len(plain) == 1:
        return list(_NESTED[plain[0]])
    if plain[:2] == ["auth", "can-i"] and len(plain) == 2:
        return list(REQUEST_VERBS)
    after = plain[2:] if plain[0] in _NESTED else plain[1:]
    if plain[:2] == ["auth", "can-i"]:
        after = plain[3:]
    if not after:
        kind, slash, _ = begun.partition("/")
        return [f"{kind}/{name}" for name in _names(cluster, kind, namespace)] if slash else _kinds(cluster)
    return _names(cluster, after[0], namespace)


def _plain(words: list[str]) -> tuple[list[str], str]:
    """The words that are no flags, and the namespace that a flag names."""
    plain: list[str] = []
    namespace, waiting = "default", ""
    for word in words:
        if waiting:
            namespace = word if waiting in ("-n", "--namespace") else namespace
            waiting = ""
        elif word.startswith("-"):
            waiting = "" if "=" in word or word in ("-A", "--all-namespaces", "--show-labels") else word
            namespace = word.partition("=")[2] if word.startswith("--namespace=") else namespace
        else:
            plain.append(word)
    return plain, namespace


def _kinds(cluster: Cluster) -> list[str]:
    found: list[str] = []
    for each in cluster.engine.catalogue.stored():
        found += [each.resource, *each.short_names]
    return found


def _names(cluster: Cluster, word: str, namespace: str) -> list[str]:
    resource = find_resource(cluster.engine.catalogue, word)
    if resource is None or not resource.storage_version:
        return []
    place = namespace if resource.namespaced else None
    names = (entry.key.name for entry in cluster.engine.store.scan(resource.storage, place))
    return [name for name in names if may_be_suggested(name) and shlex.quote(name) == name]


@magics_class
class KubectlMagics(Magics):
    """kubectl against a cluster of the notebook: the variable ``cluster``, or the one of ``--cluster NAME``."""

    @line_cell_magic
    def kubectl(self, line: str, cell: str | None = None) -> Printed | None:
        """``%kubectl get pods -n dev``; as a cell magic, each further line is a command, or the input of ``-f -``."""
        cluster, line = self._cluster(line)
        if cell is None:
            return kubectl(cluster, line)
        if line.strip():
            return kubectl(cluster, line, cell)
        lines = [each.strip().removeprefix("kubectl ") for each in cell.splitlines()]
        done = [kubectl(cluster, each) for each in lines if each and not each.startswith("#")]
        return Printed("".join(each.text for each in done), max((each.code for each in done), default=0))

    @cell_magic
    def apply(self, line: str, cell: str) -> Printed:
        """Apply the manifests of the cell: ``%%apply -n dev``."""
        cluster, line = self._cluster(line)
        return kubectl(cluster, f"apply -f - {line}", cell)

    def _cluster(self, line: str) -> tuple[Cluster, str]:
        """The cluster that a line names, and the rest of the line."""
        words, name = line.split(), "cluster"
        if "--cluster" in words[:-1]:
            place = words.index("--cluster")
            name = words[place + 1]
            line = line.replace(f"--cluster {name}", "", 1)
        found = self.shell.user_ns.get(name) if self.shell is not None else None
        if not isinstance(found, Cluster):
            raise SimkitError(f"there is no cluster named {name!r} in the notebook; next: {name} = simkit.demo()")
        return found, line


def load_ipython_extension(shell: Any) -> None:
    """Register the magics and the completion, for ``%load_ext simkit``."""
    magics = KubectlMagics(shell)
    shell.register_magics(magics)

    def complete(_: Any, event: Any) -> list[str]:
        found = shell.user_ns.get("cluster")
        return completions(found, event.text_until_cursor, event.symbol) if isinstance(found, Cluster) else []

    for key in ("%kubectl", "%%kubectl", "%%apply"):
        shell.set_hook("complete_command", complete, str_key=key)
