"""AppArmor and seccomp profiles that a pod security policy allows, both told in annotations.

Upstream: pkg/security/podsecuritypolicy/apparmor and seccomp, release 1.24.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from simkit.kinds.parts.pod.profiles import as_annotation
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import label
from simkit.meta.fielderror import FieldError, forbidden_field, quoted
from simkit.meta.objects import Object, annotations_of, at

APP_ARMOR: Final = label("", "container.apparmor.security.beta")
SECCOMP_POD: Final = label("pod", "seccomp.security.alpha")
SECCOMP_CONTAINER: Final = label("", "container.seccomp.security.alpha")
APP_ARMOR_DEFAULT: Final = label("defaultProfileName", "apparmor.security.beta")
APP_ARMOR_ALLOWED: Final = label("allowedProfileNames", "apparmor.security.beta")
SECCOMP_DEFAULT: Final = label("defaultProfileName", "seccomp.security.alpha")
SECCOMP_ALLOWED: Final = label("allowedProfileNames", "seccomp.security.alpha")
ANY: Final = "*"
_RUNTIME: Final = frozenset({"docker/default", "runtime/default"})
"""Two names of one profile, since pods say it in a field."""


def default_seccomp(policy: Object, pod: Object) -> str:
    """The seccomp annotation that a pod gets: its own, that of its field, or the policy's default."""
    own = annotations_of(pod).get(SECCOMP_POD)
    if own:
        return own
    field = at(pod, "spec", "securityContext", "seccompProfile")
    if field is None:
        return annotations_of(policy).get(SECCOMP_DEFAULT, "")
    return as_annotation(field, of_seccomp=True)


def pod_seccomp_problems(behaviour: ServedBehaviour, policy: Object, pod: Object) -> Iterator[FieldError]:
    """The errors of the seccomp profile of a pod."""
    profile = annotations_of(pod).get(SECCOMP_POD, "")
    profile = profile or as_annotation(at(pod, "spec", "securityContext", "seccompProfile"), of_seccomp=True)
    return _seccomp_problems(behaviour, policy, SECCOMP_POD, profile)


def container_seccomp_problems(
    behaviour: ServedBehaviour, policy: Object, pod: Object, container: Object
) -> Iterator[FieldError]:
    """The errors of the seccomp profile of a container, which may be that of its pod."""
    key = SECCOMP_CONTAINER + container["name"]
    return _seccomp_problems(behaviour, policy, key, _of_container(pod, container, key))


def _of_container(pod: Object, container: Object, key: str) -> str:
    notes = annotations_of(pod)
    own = at(container, "securityContext", "seccompProfile")
    if own is not None:
        return as_annotation(own, of_seccomp=True)
    if key in notes:
        return notes[key]
    of_pod = at(pod, "spec", "securityContext", "seccompProfile")
    return as_annotation(of_pod, of_seccomp=True) if of_pod is not None else notes.get(SECCOMP_POD, "")


def _seccomp_problems(behaviour: ServedBehaviour, policy: Object, key: str, profile: str) -> Iterator[FieldError]:
    listed = annotations_of(policy).get(SECCOMP_ALLOWED)
    allowed = set(listed.split(",")) if listed is not None else set()
    if ANY in allowed or (not allowed and not profile):
        return
    if allowed & _RUNTIME and behaviour.applies("seccomp-profiles-in-fields"):
        allowed |= _RUNTIME
    path = f"pod.metadata.annotations[{key}]"
    if not allowed:
        yield forbidden_field(path, "seccomp may not be set")
    elif profile not in allowed:
        yield forbidden_field(path, f"{profile} is not an allowed seccomp profile. Valid values are {listed or ''}")


def with_default_app_armor(policy: Object, notes: Mapping[str, str], container: str) -> Mapping[str, str]:
    """The annotations of a pod with the policy's profile for a container that has none."""
    default, key = annotations_of(policy).get(APP_ARMOR_DEFAULT), APP_ARMOR + container
    return {**notes, key: default} if default and not notes.get(key) else notes


def app_armor_problems(policy: Object, pod: Object, container: str) -> Iterator[FieldError]:
    """The errors of the AppArmor profile of a container."""
    listed = annotations_of(policy).get(APP_ARMOR_ALLOWED)
    if listed is None:
        return
    profile = annotations_of(pod).get(APP_ARMOR + container, "")
    path = f"pod.metadata.annotations[{APP_ARMOR}{container}]"
    if not profile:
        yield forbidden_field(path, "AppArmor profile must be set")
    elif profile not in listed.split(","):
        yield forbidden_field(path, f"{profile} is not an allowed profile. Allowed values: {quoted(listed)}")
