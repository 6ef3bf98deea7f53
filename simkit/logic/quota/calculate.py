"""The usage of a quota in a whole namespace.

CalculateUsage in k8s.io/apiserver/pkg/quota/v1/resources.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from simkit.logic.quota.device_claims import NOTHING_BACKED, RESOURCE_CLAIMS, BackedResources
from simkit.logic.quota.scopes import Scope, fits, scopes_of
from simkit.logic.quota.usage import CLAIMS, PODS, SERVICES, matching, usage
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object
from simkit.meta.quantity import Quantity
from simkit.meta.resource_list import ResourceList, add, count

_COUNT = "count/"
_WITH_NAMES = (PODS, SERVICES, CLAIMS, RESOURCE_CLAIMS)
"""The resources that have names of their own in quotas."""
_PLAIN = ("configmaps", "resourcequotas", "replicationcontrollers", "secrets")


def counted(
    behaviour: ServedBehaviour, names: Iterable[str], backed: BackedResources = NOTHING_BACKED
) -> list[GroupResource]:
    """The resources whose objects count for a quota with these names.

    Examples
    --------
    >>> from simkit.schema.behaviour import default_behaviour
    >>> [str(resource) for resource in counted(default_behaviour("1.30"), ["pods", "count/deployments.apps"])]
    ['pods', 'deployments.apps']
    """
    listed = list(names)
    found = [resource for resource in _WITH_NAMES if matching(behaviour, resource, listed, backed)]
    for name in listed:
        if name in _PLAIN:
            found.append(GroupResource("", name))
        elif name.startswith(_COUNT):
            resource, _, group = name.removeprefix(_COUNT).partition(".")
            found.append(GroupResource(group, resource))
    return list(dict.fromkeys(found))


def total_usage(
    behaviour: ServedBehaviour,
    resource: GroupResource,
    scopes: Sequence[Scope],
    objects: Iterable[Object],
    now: float,
    backed: BackedResources = NOTHING_BACKED,
) -> ResourceList:
    """The usage of all objects of a resource within some scopes, by all names that quotas have for it."""
    total: ResourceList = {}
    for obj in objects:
        if all(fits(scope, resource, obj) for scope in scopes):
            total = add(total, usage(behaviour, resource, obj, now, backed))
    return total


def used(
    behaviour: ServedBehaviour,
    quota: Object,
    names: Sequence[str],
    totals: Callable[[GroupResource, Sequence[Scope]], ResourceList],
    backed: BackedResources = NOTHING_BACKED,
) -> ResourceList:
    """The usage of each of a quota's names, zero if there is none. Names without a counter are left out.

    ``totals`` gives the ``total_usage`` of a resource within scopes, which is the same for all quotas that have them.
    """
    scopes = scopes_of(quota)
    total: dict[str, Quantity] = {}
    for resource in counted(behaviour, names, backed):
        own, amounts = matching(behaviour, resource, names, backed), totals(resource, scopes)
        total = {**{name: count(0) for name in own}, **total}
        total = add(total, {name: amounts[name] for name in own if name in amounts})
    return total
