"""A controller: each namespace of a team holds a ConfigMap with the team's name."""

from collections.abc import Iterable

from simkit.client.controller import Client
from simkit.client.lister import Lister
from simkit.client.requests import create, expect
from simkit.client.resource_watcher import ResourceWatcher
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import labels_of
from simkit.seams import Change, PartContext

NAMESPACES, CONFIG_MAPS = GroupResource("", "namespaces"), GroupResource("", "configmaps")
NAME = "team-contact"


class TeamContacts(ResourceWatcher):
    """Creates the ConfigMap ``team-contact`` in namespaces with the label ``team``."""

    name = "team-contacts"
    account = "team-contacts"  # a service account in kube-system; RBAC has to grant it what it does

    def __init__(self) -> None:
        super().__init__(NAMESPACES, CONFIG_MAPS)  # it brings namespaces in order

    def concerns(self, change: Change) -> bool:
        key = change.entry.key
        return key.resource == NAMESPACES or (key.resource == CONFIG_MAPS and key.name == NAME)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        key = change.entry.key
        return [Key(NAMESPACES, "", key.namespace or key.name)]

    def reconcile(self, client: Client, lister: Lister, key: Key) -> None:
        namespace = lister.get(key)  # the object may be gone, and the work may be done
        team = labels_of(namespace).get("team") if namespace is not None else None
        if team is None or lister.get(Key(CONFIG_MAPS, key.name, NAME)) is not None:
            return
        contact = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME}, "data": {"team": team}}
        expect(create(client, CONFIG_MAPS, key.name, contact), 409)  # other errors are raised, and it is tried again


def team_contacts(context: PartContext) -> TeamContacts:
    """The controller, which needs nothing of the server."""
    return TeamContacts()
