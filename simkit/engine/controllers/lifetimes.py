"""Lifetimes of Events, finished Jobs, bootstrap tokens, and pods without a node or on a tainted one."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable, Iterable, Sequence
from math import isinf
from typing import Any, Final

import orjson

from simkit.client.controller import Client
from simkit.client.event_recorder import EventRecorder
from simkit.client.lister import Lister, is_terminating, uid_of
from simkit.client.requests import expect, keys_of, merge, path_to, remove, replace
from simkit.client.resource_watcher import ResourceWatcher
from simkit.client.resources import CONFIG_MAPS, EVENTS, JOBS, NODES, PODS, SECRETS
from simkit.engine.authn.token_sources import SECRET_TYPE, expiration, expired, secret_value
from simkit.logic.workloads.jobs import finished_at
from simkit.logic.workloads.nodes import minimum_toleration_seconds
from simkit.logic.workloads.pods import has_ended
from simkit.logic.workloads.status_conditions import Condition, with_condition
from simkit.meta.clock import Clock, timestamp
from simkit.meta.domain import PUBLIC_NAMESPACE, SYSTEM_NAMESPACE
from simkit.meta.message import Request
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, name_of, namespace_of
from simkit.seams import Change
from simkit.seams.snapshot import Snapshot

# Deletes Events an hour after they were last written, as the lease in etcd does under kube-apiserver (--event-ttl)


class EventExpiry:
    """Deletes Events ``seconds`` after their last write, in the store: no request is made or authorized.

    Parameters
    ----------
    expire
        Takes an object out of the store.
    present
        Whether the events that are there at the start count, from then on; without it only later ones go.
    """

    name = "event-expiry"
    account = "event-expiry"

    def __init__(self, expire: Callable[[Key], None], clock: Clock, seconds: float, *, present: bool) -> None:
        self._expire, self._clock, self._seconds, self._present = expire, clock, seconds, present
        self._due: dict[Key, float] = {}
        """The expiration time of each event, the next one first."""

    @property
    def next_time(self) -> float | None:
        """The time of the next expiration."""
        return next(iter(self._due.values()), None)

    def concerns(self, change: Change) -> bool:
        """An event that was written or deleted."""
        return change.entry.key.resource == EVENTS

    def reset_backoff(self) -> None:
        """There are none."""

    def resume_from(self, other: EventExpiry) -> None:
        """Know what the one knows whose store this one's is a fork of."""
        self._due = dict(other._due)

    def sync(self, client: Client, snapshot: Snapshot, changes: Sequence[Change] | None = None) -> None:
        """Note what was written, and let go of what is due."""
        now = self._clock.now()
        if changes is None:
            self._start(snapshot, now)
        for change in changes or ():
            self._due.pop(change.entry.key, None)
            if change.type != "DELETED":
                self._due[change.entry.key] = now + self._seconds
        while self._due:
            key, when = next(iter(self._due.items()))
            if when > now:
                return
            del self._due[key]
            self._expire(key)

    def _start(self, snapshot: Snapshot, now: float) -> None:
        if self._present:
            keys = (Key(EVENTS, namespace_of(each), name_of(each)) for each in snapshot.scan(EVENTS))
            self._due = dict.fromkeys(keys, now + self._seconds) | self._due


# Deletes finished Jobs when their ttlSecondsAfterFinished are over.
# Upstream: pkg/controller/ttlafterfinished, release 1.30.


class TTLAfterFinishedController(ResourceWatcher):
    """Deletes each finished Job that has a TTL, and its pods with it."""

    name = account = "ttl-after-finished-controller"

    def __init__(self, clock: Clock) -> None:
        super().__init__(JOBS)
        self._clock = clock

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        job = lister.get(key)
        seconds = at(job, "spec", "ttlSecondsAfterFinished")
        if job is None or seconds is None or is_terminating(job):
            return None
        finished = finished_at(job)
        if finished is None:
            return None
        if finished + seconds > self._clock.now():
            return finished + float(seconds)
        remove(client, JOBS, job, "Foreground")
        return None


# Deletes expired bootstrap tokens, and signs the cluster-info config map with the others.
# Upstream: pkg/controller/bootstrap, release 1.30.

_INFO: Final = Key(CONFIG_MAPS, PUBLIC_NAMESPACE, "cluster-info")
_SIGNATURE: Final = "jws-kubeconfig-"


def _is_token(obj: Object) -> bool:
    return obj.get("type") == SECRET_TYPE


class TokenCleaner(ResourceWatcher):
    """Deletes bootstrap token secrets when they expire."""

    name = "token-cleaner-controller"
    account = "token-cleaner"

    def __init__(self, clock: Clock) -> None:
        super().__init__(SECRETS)
        self._clock = clock

    def concerns(self, change: Change) -> bool:
        key = change.entry.key
        return key.resource == SECRETS and key.namespace == SYSTEM_NAMESPACE and _is_token(change.entry.object)

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return keys_of(SECRETS, list(filter(_is_token, lister.scan(SECRETS, SYSTEM_NAMESPACE))))

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        secret = lister.get(key)
        end = expiration(secret) if secret is not None and _is_token(secret) else None
        if secret is None or end is None:
            return None
        if end > self._clock.now():
            return end
        remove(client, SECRETS, secret)
        return None


class BootstrapSigner(ResourceWatcher):
    """Keeps a JWS signature in the cluster-info config map for each token that may sign."""

    name = "bootstrap-signer-controller"
    account = "bootstrap-signer"

    def __init__(self, clock: Clock) -> None:
        super().__init__(SECRETS, CONFIG_MAPS)
        self._clock = clock

    def concerns(self, change: Change) -> bool:
        key = change.entry.key
        if key == _INFO:
            return True
        return key.resource == SECRETS and key.namespace == SYSTEM_NAMESPACE and _is_token(change.entry.object)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        return [_INFO]

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return [_INFO]

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        info = lister.get(key)
        content = ((info or {}).get("data") or {}).get("kubeconfig")
        if info is None or content is None:
            return None
        now, ends, signatures = self._clock.now(), list[float](), dict[str, str]()
        for secret in filter(_is_token, lister.scan(SECRETS, SYSTEM_NAMESPACE)):
            end, name = expiration(secret), secret_value(secret, "token-id")
            if (
                is_terminating(secret)
                or secret_value(secret, "usage-bootstrap-signing") != "true"
                or expired(secret, now)
            ):
                continue
            signatures[_SIGNATURE + name] = detached(content, name, secret_value(secret, "token-secret"))
            ends += [end] if end is not None else []
        kept = {name: value for name, value in info["data"].items() if not name.startswith(_SIGNATURE)}
        if {**kept, **signatures} != info["data"]:
            expect(replace(client, CONFIG_MAPS, {**info, "data": {**kept, **signatures}}), 404, 409)
        return min(ends, default=None)


def detached(content: str, identifier: str, secret: str) -> str:
    """The signature of a text under a token's secret, without the text in it.

    Examples
    --------
    >>> detached("a", "abcdef", "0123456789abcdef").split(".")[1]
    ''
    """
    header = _encoded(orjson.dumps({"alg": "HS256", "kid": identifier}))
    signed = f"{header}.{_encoded(content.encode())}".encode()
    mark = hmac.new(f"{identifier}.{secret}".encode(), signed, hashlib.sha256).digest()
    return f"{header}..{_encoded(mark)}"


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


# Deletes pods of nodes that no longer exist, and terminating pods that were never scheduled.
# Upstream: pkg/controller/podgc, release 1.30.

_QUARANTINE: Final = 40.0
"""Seconds that a node has to be missing: it may be about to come back."""
_ORPHANED: Final = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByPodGC",
    "message": "PodGC: node no longer exists",
}


class PodGCController(ResourceWatcher):
    """Waits 40 seconds for a missing node, then deletes its pods at once."""

    name = "pod-garbage-collector-controller"
    account = "pod-garbage-collector"

    def __init__(self, clock: Clock) -> None:
        super().__init__(PODS, NODES)
        self._clock = clock
        self._missing: dict[str, float] = {}
        """Since when nodes have been missing."""

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        key = change.entry.key
        if key.resource == PODS:
            return [key] if change.type != "DELETED" else ()
        if change.type == "MODIFIED":
            return ()
        return keys_of(PODS, [pod for pod in lister.scan(PODS) if at(pod, "spec", "nodeName") == key.name])

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        pod = lister.get(key)
        if pod is None:
            return None
        node = at(pod, "spec", "nodeName") or ""
        if not node:
            if is_terminating(pod):
                self._remove(client, pod)
            return None
        if lister.get(Key(NODES, "", node)) is not None:
            self._missing.pop(node, None)
            return None
        now = self._clock.now()
        end = self._missing.setdefault(node, now) + _QUARANTINE
        if end > now:
            return end
        self._fail(client, pod, with_condition(at(pod, "status", "conditions"), _ORPHANED, timestamp(now)))
        self._remove(client, pod)
        return None

    def _fail(self, client: Client, pod: Object, conditions: Sequence[Condition]) -> None:
        """A pod that nobody runs any more has failed, unless it had come to its end before."""
        status: dict[str, Any] = {"conditions": conditions}
        if not has_ended(pod):
            status["phase"] = "Failed"
        # Older releases let this account only delete pods.
        expect(merge(client, PODS, pod, {"status": status}, "status"), 403, 404, 409)

    def _remove(self, client: Client, pod: Object) -> None:
        options = {"preconditions": {"uid": uid_of(pod)}, "gracePeriodSeconds": 0}
        expect(client.perform(Request.of("DELETE", path_to(PODS, pod), options)), 404, 409)


# Deletes pods that do not tolerate the NoExecute taints of their node.
# Upstream: pkg/controller/tainteviction, release 1.30.

_DISRUPTED: Final = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByTaintManager",
    "message": "Taint manager: deleting due to NoExecute taint",
}


class TaintEvictionController(ResourceWatcher):
    """Reconciles a pod when it or the taints of its node change, and when its tolerationSeconds are over."""

    name = "taint-eviction-controller"
    account = "node-controller"

    def __init__(self, clock: Clock) -> None:
        super().__init__(NODES, PODS)
        self._clock = clock
        self._events = EventRecorder(clock, self.name)
        self._since: dict[Key, float] = {}
        """The time at which each pod was first seen on a node with NoExecute taints without endless toleration."""

    def resume_from(self, other: Any) -> None:
        self._since = dict(other._since)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        key = change.entry.key
        if key.resource == PODS:
            return [key] if at(change.entry.object, "spec", "nodeName") else ()
        before = change.previous.object if change.previous is not None else None
        if at(change.entry.object, "spec", "taints") == at(before, "spec", "taints"):
            return ()
        return keys_of(PODS, [pod for pod in lister.scan(PODS) if at(pod, "spec", "nodeName") == key.name])

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return keys_of(PODS, [pod for pod in lister.scan(PODS) if at(pod, "spec", "nodeName")])

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        pod = lister.get(key)
        node = lister.get(Key(NODES, "", at(pod, "spec", "nodeName") or "")) if pod is not None else None
        if pod is None or node is None or is_terminating(pod):
            self._since.pop(key, None)
            return None
        taints = [each for each in at(node, "spec", "taints") or () if each.get("effect") == "NoExecute"]
        seconds = minimum_toleration_seconds(at(pod, "spec", "tolerations") or (), taints)
        if seconds is not None and isinf(seconds):
            if self._since.pop(key, None) is not None:
                text = f"Cancelling deletion of Pod {namespace_of(pod)}/{name_of(pod)}"
                self._events.event(client, pod, "TaintManagerEviction", text)
            return None
        end = self._since.setdefault(key, self._clock.now()) + (seconds or 0.0)
        if end > self._clock.now():
            return end
        del self._since[key]
        self._evict(client, pod)
        return None

    def _evict(self, client: Client, pod: Object) -> None:
        text = f"Marking for deletion Pod {namespace_of(pod)}/{name_of(pod)}"
        self._events.event(client, pod, "TaintManagerEviction", text)
        conditions = with_condition(at(pod, "status", "conditions"), _DISRUPTED, timestamp(self._clock.now()))
        expect(merge(client, PODS, pod, {"status": {"conditions": conditions}}, "status"), 404, 409)
        remove(client, PODS, pod)
