"""Publishes the CA certificate in the config map kube-root-ca.crt of every namespace.

Upstream: pkg/controller/certificates/rootcacertpublisher, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from simkit.engine.controllers.client_requests import create, expect, keys_of, replace
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.lister import Lister, is_terminating
from simkit.engine.controllers.resource_watcher import ResourceWatcher
from simkit.engine.controllers.resources import CONFIG_MAPS, NAMESPACES
from simkit.engine.seams import Change
from simkit.meta.domain import label
from simkit.meta.names import Key
from simkit.meta.objects import annotations_of, with_metadata

_NAME: Final = "kube-root-ca.crt"
_NOTE: Final = label("description")
_DESCRIPTION: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


class RootCACertPublisher(ResourceWatcher):
    """Creates and repairs the config map of each namespace."""

    name = "root-ca-certificate-publisher-controller"
    account = "root-ca-cert-publisher"

    def __init__(self, bundle: Callable[[], str]) -> None:
        super().__init__(NAMESPACES, CONFIG_MAPS)
        self._bundle = bundle

    def concerns(self, change: Change) -> bool:
        key = change.entry.key
        return key.resource == NAMESPACES or (key.resource == CONFIG_MAPS and key.name == _NAME)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        key = change.entry.key
        return [Key(NAMESPACES, "", key.namespace or key.name)]

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return keys_of(NAMESPACES, lister.scan(NAMESPACES))

    def reconcile(self, client: Client, lister: Lister, key: Key) -> None:
        namespace = lister.get(key)
        if namespace is None or is_terminating(namespace):
            return
        data, present = {"ca.crt": self._bundle()}, lister.get(Key(CONFIG_MAPS, key.name, _NAME))
        if present is None:
            meta = {"name": _NAME, "annotations": {_NOTE: _DESCRIPTION}}
            made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}
            expect(create(client, CONFIG_MAPS, key.name, made), 403, 404, 409)
        elif present.get("data") != data or not annotations_of(present).get(_NOTE):
            notes = {**annotations_of(present), _NOTE: _DESCRIPTION}
            expect(replace(client, CONFIG_MAPS, {**with_metadata(present, annotations=notes), "data": data}), 404, 409)
