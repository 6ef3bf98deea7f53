"""ServiceAccount sets the service account of pods and mounts its token.

Upstream: plugin/pkg/admission/serviceaccount, release 1.30; of 1.20, how the token came from a secret.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from simkit.client.resources import PODS, SECRETS, SERVICE_ACCOUNTS
from simkit.engine.admission.plugin_attributes import WRITES, Handler, admission_forbidden, with_spec, written
from simkit.kinds.core.secret import is_token_of
from simkit.meta.clock import NameSource
from simkit.meta.deadline import current_deadline
from simkit.meta.domain import MIRROR_POD, label
from simkit.meta.errors import StatusError
from simkit.meta.fielderror import quoted
from simkit.meta.names import Key
from simkit.meta.objects import Object, annotations_of, at, name_of, namespace_of
from simkit.meta.podspec import containers_of
from simkit.seams import Reader, Review

# The secrets and config maps that a pod references.
# Upstream: pkg/api/v1/pod/util.go, release 1.30.

_VOLUME_SECRETS: Final = (
    ("azureFile", "secretName"),
    ("cephfs", "secretRef", "name"),
    ("cinder", "secretRef", "name"),
    ("flexVolume", "secretRef", "name"),
    ("rbd", "secretRef", "name"),
    ("secret", "secretName"),
    ("scaleIO", "secretRef", "name"),
    ("iscsi", "secretRef", "name"),
    ("storageos", "secretRef", "name"),
    ("csi", "nodePublishSecretRef", "name"),
)


def _secret_names(pod: Object) -> Iterator[str]:
    """Every secret that a pod references."""
    for each in at(pod, "spec", "imagePullSecrets") or ():
        yield each.get("name", "")
    for container in containers_of(pod.get("spec") or {}):
        yield from (name for _, name in env_secrets(container))
    for volume in at(pod, "spec", "volumes") or ():
        for path in _VOLUME_SECRETS:
            found = at(volume, *path)
            if found:
                yield found
        for source in at(volume, "projected", "sources") or ():
            if "secret" in source:
                yield source["secret"].get("name", "")


def env_secrets(container: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The references to secrets in a container's environment: their description and the secret."""
    for env in container.get("env") or ():
        reference = at(env, "valueFrom", "secretKeyRef")
        if reference is not None:
            yield f"envVar {env.get('name', '')}", reference.get("name", "")
    for env in container.get("envFrom") or ():
        if env.get("secretRef") is not None:
            yield "envFrom", env["secretRef"].get("name", "")


def references_secrets(pod: Object) -> bool:
    """True if a pod mentions any secret."""
    return any(True for _ in _secret_names(pod))


def references_config_maps(pod: Object) -> bool:
    """True if a pod mentions any config map."""
    for container in containers_of(pod.get("spec") or {}):
        if any(env.get("configMapRef") is not None for env in container.get("envFrom") or ()):
            return True
        if any(at(env, "valueFrom", "configMapKeyRef") is not None for env in container.get("env") or ()):
            return True
    for volume in at(pod, "spec", "volumes") or ():
        if "configMap" in volume or any("configMap" in source for source in at(volume, "projected", "sources") or ()):
            return True
    return False


_ENFORCE: Final = label("enforce-mountable-secrets")
_VOLUME_PREFIX: Final = "kube-api-access-"
_MOUNT_PATH: Final = f"/var/run/secrets/{label('serviceaccount')}"
_LIFETIME: Final = 3607
_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_DEFAULT: Final = "default"
_PAUSES: Final = (0.025, 0.05, 0.1, 0.2, 0.4, 0.8)
"""Seconds between two looks for the account of a new namespace; kube-apiserver waits for up to 1.8 s in all."""
_CONTAINERS: Final = (("initContainers", "init container"), ("containers", "container"))


class ServiceAccount(Handler, operations=WRITES, resources={PODS}):
    """Sets account, pull secrets and token of new pods, and refuses accounts that are missing.

    The account ``default`` of a new namespace comes from a controller. A request that a server answers waits for it:
    such requests are given a thread that may wait (``awaits_account``). Calls in this process do not wait.
    """

    def __init__(self, store: Reader, name_source: NameSource, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._store, self._name_source, self._sleep = store, name_source, sleep
        self._trials = NameSource(0)
        """Names for dry runs, which must not affect the names of later writes."""

    def mutate(self, review: Review) -> Object:
        """A new pod with its account, the account's pull secrets if it has none, and the token volume."""
        pod = written(review)
        if review.operation != "CREATE" or review.subresource:
            return pod
        if MIRROR_POD in annotations_of(pod):
            _check_mirror(review, pod)
            return pod
        name = at(pod, "spec", "serviceAccountName") or _DEFAULT
        account = self._account(review, name)
        pod = with_spec(pod, serviceAccountName=name, serviceAccount=name)
        if _automounts(account, pod):
            names = self._trials if review.dry_run else self._name_source
            if review.behaviour.applies("tokens-projected-into-pods"):
                pod = _with_projected(pod, names)
            else:
                pod = _with_secret(pod, self._secret(account), names)
        if not at(pod, "spec", "imagePullSecrets") and account.get("imagePullSecrets"):
            pod = with_spec(pod, imagePullSecrets=[dict(each) for each in account["imagePullSecrets"]])
        return pod

    def validate(self, review: Review) -> None:
        """Raises 403 for a pod whose account is missing, or that uses a secret which its account may not mount."""
        pod = written(review)
        if review.operation == "UPDATE" and review.subresource == "ephemeralcontainers":
            self._limit(review, pod, _ephemeral_problems)
        elif review.operation == "CREATE" and not review.subresource:
            if MIRROR_POD in annotations_of(pod):
                _check_mirror(review, pod)
            else:
                self._limit(review, pod, _secret_problems)

    def _limit(self, review: Review, pod: Object, problems: Any) -> None:
        name = at(pod, "spec", "serviceAccountName") or ""
        if not name:
            raise admission_forbidden(review, f"no service account specified for pod {review.namespace}/{name_of(pod)}")
        account = self._account(review, name)
        if annotations_of(account).get(_ENFORCE, "") in _TRUE:
            for problem in problems(account, pod):
                raise admission_forbidden(review, problem)

    def _account(self, review: Review, name: str) -> Object:
        key = Key(SERVICE_ACCOUNTS, review.namespace, name)
        found = self._store.get(key)
        for pause in _PAUSES if found is None and name == _DEFAULT and _may_wait() else ():
            self._sleep(pause)
            found = self._store.get(key)
            if found is not None:
                break
        if found is None:
            where = f"{review.namespace}/{name}"
            raise admission_forbidden(
                review, f'error looking up service account {where}: serviceaccount "{name}" not found'
            )
        return found.object

    def _secret(self, account: Object) -> str:
        """The first secret with a token of an account, among those that it names. Raises 500 where there is none."""
        for each in account.get("secrets") or ():
            found = self._store.get(Key(SECRETS, namespace_of(account), each.get("name") or ""))
            if found is not None and is_token_of(found.object, account):
                return found.key.name
        text = f"No API token found for service account {quoted(name_of(account))}, retry after the token is "
        text += "automatically created and added to the service account"
        details = {"name": "create pod", "kind": SERVICE_ACCOUNTS.resource, "retryAfterSeconds": 1}
        raise StatusError(500, "ServerTimeout", text, details=details)


def awaits_account(store: Reader, namespace: str) -> bool:
    """True if a new pod of a namespace has to wait for the namespace's account."""
    return store.get(Key(SERVICE_ACCOUNTS, namespace, _DEFAULT)) is None


def _may_wait() -> bool:
    """True in a thread that answers a request for somebody; controllers wait for nobody, and an event loop must not."""
    deadline = current_deadline()
    return deadline is not None and not math.isinf(deadline.left)


def _with_projected(pod: Object, names: NameSource) -> Object:
    """The pod with a token that is made for it."""
    volumes = at(pod, "spec", "volumes") or ()
    present = next((each["name"] for each in volumes if each["name"].startswith(_VOLUME_PREFIX)), "")
    if present:
        return _mounted(pod, present)
    name = _VOLUME_PREFIX + names.suffix()
    return _mounted(pod, name, _token_volume(name))


def _with_secret(pod: Object, secret: str, names: NameSource) -> Object:
    """The pod with a secret of its account, as up to 1.20; the volume has the name of the secret if that is free."""
    volumes = at(pod, "spec", "volumes") or ()
    present = next((each["name"] for each in volumes if at(each, "secret", "secretName") == secret), "")
    if present:
        return _mounted(pod, present)
    name = secret.replace(".", "-")
    if any(each["name"] == name for each in volumes):
        name = f"{name}-{names.suffix()}"
    return _mounted(pod, name, {"name": name, "secret": {"secretName": secret, "defaultMode": 0o644}})


def _mounted(pod: Object, name: str, volume: Mapping[str, Any] | None = None) -> Object:
    """The pod with a volume mounted in every container that has no other mount at the path of tokens."""
    mount = {"name": name, "readOnly": True, "mountPath": _MOUNT_PATH}
    changed: dict[str, Any] = {}
    for field, _ in _CONTAINERS:
        containers = at(pod, "spec", field) or ()
        filled = [_with_mount(container, mount) for container in containers]
        if any(after is not before for after, before in zip(filled, containers, strict=True)):
            changed[field] = filled
    if changed and volume is not None:
        changed["volumes"] = [*(at(pod, "spec", "volumes") or ()), volume]
    return with_spec(pod, **changed)


def _automounts(account: Object, pod: Object) -> bool:
    for said in (at(pod, "spec", "automountServiceAccountToken"), account.get("automountServiceAccountToken")):
        if said is not None:
            return bool(said)
    return True


def _with_mount(container: Mapping[str, Any], mount: Mapping[str, Any]) -> Mapping[str, Any]:
    present = container.get("volumeMounts") or ()
    if any(each.get("mountPath") == _MOUNT_PATH for each in present):
        return container
    return {**container, "volumeMounts": [*present, mount]}


def _token_volume(name: str) -> dict[str, Any]:
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    sources: list[dict[str, Any]] = [
        {"serviceAccountToken": {"expirationSeconds": _LIFETIME, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [namespace]}},
    ]
    return {"name": name, "projected": {"sources": sources, "defaultMode": 0o644}}


def _check_mirror(review: Review, pod: Object) -> None:
    """Raise 403 for a mirror pod with an account or secrets, since the kubelet creates it without the server."""
    if at(pod, "spec", "serviceAccountName"):
        raise admission_forbidden(review, "a mirror pod may not reference service accounts")
    if references_secrets(pod):
        raise admission_forbidden(review, "a mirror pod may not reference secrets")
    for volume in at(pod, "spec", "volumes") or ():
        if any("serviceAccountToken" in source for source in at(volume, "projected", "sources") or ()):
            raise admission_forbidden(review, "a mirror pod may not use ServiceAccountToken volume projections")


def _secret_problems(account: Object, pod: Object) -> Iterator[str]:
    mountable = {each.get("name") for each in account.get("secrets") or ()}
    end = f"is not allowed because service account {name_of(account)} does not reference that"
    for volume in at(pod, "spec", "volumes") or ():
        name = at(volume, "secret", "secretName")
        if volume.get("secret") is not None and name not in mountable:
            yield f'volume with secret.secretName="{name}" {end} secret'
    for field, word in _CONTAINERS:
        yield from _container_problems(account, pod, field, word)
    pullable = {each.get("name") for each in account.get("imagePullSecrets") or ()}
    for index, each in enumerate(at(pod, "spec", "imagePullSecrets") or ()):
        if each.get("name") not in pullable:
            yield f'imagePullSecrets[{index}].name="{each.get("name", "")}" {end} imagePullSecret'


def _container_problems(account: Object, pod: Object, field: str, word: str) -> Iterator[str]:
    mountable = {each.get("name") for each in account.get("secrets") or ()}
    end = f"is not allowed because service account {name_of(account)} does not reference that secret"
    for container in at(pod, "spec", field) or ():
        for what, name in env_secrets(container):
            if name not in mountable:
                yield f'{word} {container["name"]} with {what} referencing secret.secretName="{name}" {end}'


def _ephemeral_problems(account: Object, pod: Object) -> Iterator[str]:
    return _container_problems(account, pod, "ephemeralContainers", "ephemeral container")
