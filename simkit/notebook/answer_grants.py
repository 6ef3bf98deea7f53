"""The subjects and resources that an answer names, told where they miss what an exercise asks for."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from simkit.analysis.rbac.subject import identity_of, text_of
from simkit.logic.rbac.binding import Binding, key_of
from simkit.meta.names import GroupResource

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster

_BINDINGS: Final = ("rolebindings", "clusterrolebindings")


def named_by_answer(before: Cluster, after: Cluster, subject: str) -> tuple[str, ...]:
    """A line with the subjects of the bindings that an answer wrote, if none of them names a subject or its groups.

    Parameters
    ----------
    before, after
        The cluster without and with the answer.
    subject
        The subject that the answer should have reached, such as ``user:ann``.
    """
    written = _bindings(after) - _bindings(before)
    subjects = {subject for binding in written for subject in _parsed(after, binding).subjects}
    identity = identity_of(subject)
    if not subjects or any(_parsed(after, each).names(identity.user, identity.groups) for each in written):
        return ()
    named = ", ".join(sorted(map(text_of, subjects)))
    return (f"the bindings of the answer name {named}, and not {subject}",)


def _bindings(cluster: Cluster) -> set[tuple[str, str, str, str]]:
    """Every binding by resource, namespace and name, with its resource version."""
    return {
        (word, meta.get("namespace", ""), meta["name"], meta["resourceVersion"])
        for word in _BINDINGS
        for meta in (each["metadata"] for each in cluster.list(word))
    }


def _parsed(cluster: Cluster, binding: tuple[str, str, str, str]) -> Binding:
    word, namespace, name, _ = binding
    obj = cluster.get(word, name, namespace or None)
    return Binding.of(key_of(obj, cluster.engine.catalogue.lookup(word).group_resource), obj)


def resource_text(resource: GroupResource, cluster: Cluster) -> str:
    """The resource in words. One that is not served is called so, with the name that is most like it."""
    name, slash, subresource = resource.resource.partition("/")
    served = {each.group_resource: each for each in cluster.engine.catalogue.resources()}
    if "*" in (resource.group, name):
        return str(resource)
    known = served.get(GroupResource(resource.group, name))
    if known is None:
        group = [each for each in served.values() if each.group == resource.group]
        near = [f"{each.resource}/{name}" for each in group if name in each.subresources][:1]
        near = near or get_close_matches(name, [each.resource for each in group], n=1)
        return f"{resource.resource} of the API group {resource.group!r}, which has no such resource{_meant(near)},"
    if slash and subresource not in ("*", *known.subresources):
        near = [f"{name}/{each}" for each in get_close_matches(subresource, known.subresources, n=1)]
        return f"{resource}, which is no subresource{_meant(near)},"
    return str(resource)


def _meant(near: list[str]) -> str:
    return f" (did you mean {near[0]}?)" if near else ""
