"""Images of containers: whether a node has one, whether it can be pulled, and the pauses between attempts.

Upstream: pkg/kubelet/images/image_manager.go (``EnsureImageExists``), releases 1.30 and 1.32.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from simkit.client.lister import uid_of
from simkit.meta.objects import Object
from simkit.meta.quantity import QuantityError
from simkit.meta.quantity import parse as parse_quantity
from simkit.simulation.kubelet.behaviour import Behaviours
from simkit.simulation.kubelet.images import BadReference, Reference, full_name, image_name, reference

# The images of one node, as its kubelet lists them.
# Upstream: pkg/kubelet/nodestatus/setters.go (``Images``) and pkg/kubelet/kubelet_node_status.go, release 1.30.

MOST_LISTED: Final = 50
"""The most images that the status of a node lists."""
_MOST_NAMES: Final = 5
_USUAL: Final = 50_000_000
"""Bytes of an image of which nothing is known."""
_SIZES: Final[Mapping[str, int]] = {
    "alpine": 3_600_000, "bash": 6_400_000, "busybox": 2_160_000, "debian": 48_500_000, "httpd": 58_000_000,
    "mongo": 277_000_000, "mysql": 170_000_000, "nginx": 71_000_000, "node": 400_000_000, "pause": 320_000,
    "postgres": 155_000_000, "python": 360_000_000, "redis": 45_000_000, "ubuntu": 29_500_000,
}  # fmt: skip
"""Bytes of well-known images, as they are sent, rounded."""


def usual_size(image: str) -> int:
    """The bytes of an image, a guess for one that nobody has described.

    Examples
    --------
    >>> usual_size("docker.io/library/busybox:1.36"), usual_size("me/app")
    (2160000, 50000000)
    """
    return _SIZES.get(image_name(image), _USUAL)


class NodeImages:
    """The images of a node by full name.

    Attributes
    ----------
    complete
        Whether they are all that there is: a pod that forbids pulling finds no other.
    changed
        Whether the node does not list them yet.
    busy_until
        The end of the last pull: kubelets pull one image after the other.
    """

    def __init__(self, listed: Iterable[Mapping[str, Any]] = (), *, complete: bool = False) -> None:
        self._listed: dict[str, tuple[tuple[str, ...], int]] = {}
        self.complete, self.changed, self.busy_until = complete, False, 0.0
        for each in listed:
            names = tuple(each.get("names") or ())
            for name in names:
                self._listed[full_name(name)] = names, int(each.get("sizeBytes") or 0)

    def fork(self) -> NodeImages:
        """An independent copy."""
        copy = NodeImages(complete=self.complete)
        copy._listed, copy.changed, copy.busy_until = dict(self._listed), self.changed, self.busy_until
        return copy

    def __contains__(self, full: str) -> bool:
        return full in self._listed

    def add(self, full: str, size: int) -> None:
        """Keep an image that was pulled, by its full name, with its size in bytes."""
        if full not in self._listed:
            self._listed[full] = (full,), size
            self.changed = True

    def listed(self) -> Sequence[Mapping[str, Any]]:
        """The images as the status of a node has them: the largest first, at most 50."""
        different = sorted(set(self._listed.values()), key=lambda each: (-each[1], each[0]))
        return [{"names": list(names[:_MOST_NAMES]), "sizeBytes": size} for names, size in different[:MOST_LISTED]]


Told = tuple[str, str, bool]
"""Reason and message of an event, and whether it is a warning."""
_FIRST_PAUSE: Final = 10.0
_LONGEST_PAUSE: Final = 300.0
_NEXT_LOOK: Final = 1.0
"""Seconds after which a kubelet looks again at a container whose image was not pulled."""
LOOKS_EVERY: Final = 12.0
"""Seconds between two looks at a container that waits: 10 to 15 of them in a real kubelet."""
TOLD_OFTEN: Final = 5
"""The pauses during which each look is told; of later ones, which are long, the limits for events let one pass."""
_NOWHERE: Final = ".invalid"
"""The domain that never exists (RFC 6761)."""
NOT_FOUND: Final = "not-found"
_NO_HOST: Final = "no-such-host"
_DENIED: Final = "denied"


class Lacking(NamedTuple):
    """The reason why a container waits for its image, with events to record, and when to look again."""

    reason: str
    message: str
    events: Sequence[Told]
    due: float | None = None


@dataclass(slots=True)
class _Failure:
    """The attempts to pull the image of a container so far."""

    image: str
    count: int
    at: float
    told: bool = False
    """True if the present pause is told of."""
    tells_at: float = 0.0
    """The time from which it is told again."""

    @property
    def over(self) -> float:
        """The end of the pause."""
        return self.at + float(min(_FIRST_PAUSE * 2.0 ** min(self.count - 1, 10), _LONGEST_PAUSE))


@dataclass(frozen=True, slots=True)
class _Pull:
    """A pull that takes time: when it was asked for, when it began, and its end."""

    image: str
    asked: float
    begun: float
    done: float


class ImagePulls:
    """The pulls of a cluster's kubelets.

    Parameters
    ----------
    behaviours
        The images that cannot be pulled.
    tells_cause
        Whether containers tell the last error while they wait for the next attempt (from 1.32 on).
    tells_size
        Whether the size of an image is told once it is pulled (from 1.30 on).
    """

    def __init__(self, behaviours: Behaviours, *, tells_cause: bool, tells_size: bool = True) -> None:
        self._behaviours, self._tells_cause, self._tells_size = behaviours, tells_cause, tells_size
        self._failures: dict[str, dict[str, _Failure]] = {}
        self._pulls: dict[str, dict[str, _Pull]] = {}

    def lacking(self, pod: Object, container: Mapping[str, Any], images: NodeImages, now: float) -> Lacking | None:
        """The reason why a container cannot start for want of its image; None if it can."""
        image, own = str(container.get("image", "")), self._failures.get(uid_of(pod), {})
        try:
            wanted = reference(image)
        except BadReference as error:
            cause = f'couldn\'t parse image reference "{image}": {error}'
            return _failed("InvalidImageName", "InspectFailed", f'Failed to apply default image tag "{image}": {cause}')
        policy, name = container.get("imagePullPolicy"), str(container.get("name", ""))
        if policy != "Always" and str(wanted) in images and name not in self._pulls.get(uid_of(pod), {}):
            return None
        trouble = self._error(pod, container, wanted)
        if policy == "Never" and (trouble or images.complete):
            text = f'Container image "{image}" is not present with pull policy of Never'
            return _failed("ErrImageNeverPull", "ErrImageNeverPull", text)
        if not trouble:
            own.pop(name, None)
            return None if policy == "Never" else self._pulling(pod, container, wanted, images, now)
        known = own.get(name)
        if known is None or known.image != image:
            known = self._failures.setdefault(uid_of(pod), {})[name] = _Failure(image, 0, now)
        elif now < known.over:
            return self._waiting(known, trouble, now)
        known.count, known.at, known.told = known.count + 1, now, False
        return _not_pulled(image, trouble, now + _NEXT_LOOK)

    def _pulling(
        self, pod: Object, container: Mapping[str, Any], wanted: Reference, images: NodeImages, now: float
    ) -> Lacking | None:
        """The wait for a pull that takes time; None if it is over, or takes none."""
        image, own = str(container.get("image", "")), self._pulls.setdefault(uid_of(pod), {})
        name, seconds = str(container.get("name", "")), self._behaviours.duration(pod, container, "pull-time")
        known = own.get(name)
        if known is not None and known.image == image:
            return None if known.done <= now else Lacking("", "", (), known.done)
        begun = max(now, images.busy_until)
        if not seconds or str(wanted) in images:
            seconds = 0.0
            begun = now
        own[name] = pull = _Pull(image, now, begun, begun + seconds)
        images.busy_until = max(images.busy_until, pull.done)
        if not seconds:
            return None
        return Lacking("", "", (("Pulling", f'Pulling image "{image}"', False),), pull.done)

    def _waiting(self, failure: _Failure, error: str, now: float) -> Lacking:
        text = f'Back-off pulling image "{failure.image}"'
        often = failure.count <= TOLD_OFTEN
        tells = not failure.told or (often and now >= failure.tells_at)
        events = (("BackOff", text, False), _error_event("ImagePullBackOff")) if tells else ()
        if tells:
            failure.told, failure.tells_at = True, now + LOOKS_EVERY
        message = f"{text}: ErrImagePull: {error}" if self._tells_cause else text
        due = min(failure.over, failure.tells_at) if often else failure.over
        return Lacking("ImagePullBackOff", message, events, due)

    def _error(self, pod: Object, container: Mapping[str, Any], wanted: Reference) -> str:
        """The error of pulling an image; empty if it can be pulled."""
        told = self._behaviours.told(pod, container, "pull-error")
        if told is None:
            host = wanted.host.partition(":")[0]
            told = _NO_HOST if host.endswith(_NOWHERE) or host == _NOWHERE[1:] else ""
        worded = _WORDS.get(told)
        return (
            told
            if worded is None
            else worded.format(image=wanted, host=wanted.host, path=wanted.path, tag=_tag(wanted))
        )

    def events_of_start(self, pod: Object, container: Mapping[str, Any], images: NodeImages) -> list[Told]:
        """The events about the image of a container that starts; the node has the image then."""
        image = str(container.get("image", ""))
        wanted, size = str(reference(image)), self._size(pod, container)
        pull = self._pulls.get(uid_of(pod), {}).pop(str(container.get("name", "")), None)
        images.add(wanted, size)
        if pull is None or pull.image != image:
            return [("Pulled", f'Container image "{image}" already present on machine', False)]
        took, whole = go_seconds(pull.done - pull.begun), go_seconds(pull.done - pull.asked)
        pulled = f'Successfully pulled image "{image}" in {took} ({whole} including waiting)'
        pulled += f". Image size: {size} bytes." if self._tells_size else ""
        began = pull.done == pull.asked  # otherwise it was told when it began
        return [*([("Pulling", f'Pulling image "{image}"', False)] if began else []), ("Pulled", pulled, False)]

    def _size(self, pod: Object, container: Mapping[str, Any]) -> int:
        """The bytes of an image, as a test says them, or a guess."""
        told = self._behaviours.setting(pod, container, "image-size")
        try:
            return parse_quantity(told).nano // 10**9 if told else usual_size(str(container.get("image", "")))
        except QuantityError:
            return usual_size(str(container.get("image", "")))

    def forget(self, pod: Object) -> None:
        """Forget a pod that is gone."""
        self._failures.pop(uid_of(pod), None)
        self._pulls.pop(uid_of(pod), None)

    def resume_from(self, other: ImagePulls) -> None:
        """Know the attempts of another one, for a fork."""
        self._failures = {
            uid: {name: replace(each) for name, each in own.items()} for uid, own in other._failures.items()
        }
        self._pulls = {uid: dict(own) for uid, own in other._pulls.items()}


def go_seconds(amount: float) -> str:
    """Seconds as Go writes a duration, to the millisecond.

    Examples
    --------
    >>> go_seconds(0), go_seconds(0.25), go_seconds(2.5), go_seconds(90)
    ('0s', '250ms', '2.5s', '1m30s')
    """
    thousandths = round(amount * 1000)
    if 0 < thousandths < 1000:
        return f"{thousandths}ms"
    minutes, rest = divmod(thousandths, 60_000)
    return (f"{minutes}m" if minutes else "") + f"{rest / 1000:g}s"


_RESOLVING: Final = 'failed to pull and unpack image "{image}": failed to resolve reference "{image}": '
_REPOSITORY: Final = "pull access denied, repository does not exist or may require authorization"
_WORDS: Final[Mapping[str, str]] = {
    NOT_FOUND: f"rpc error: code = NotFound desc = {_RESOLVING}{{image}}: not found",
    _DENIED: f"rpc error: code = Unknown desc = {_RESOLVING}{_REPOSITORY}: server message: insufficient_scope: "
    "authorization failed",
    _NO_HOST: f'rpc error: code = Unknown desc = {_RESOLVING}failed to do request: Head "https://{{host}}/v2/{{path}}/'
    'manifests/{tag}": dial tcp: lookup {host}: no such host',
}
"""The errors of containerd by the words that stand for them."""


def _tag(wanted: Reference) -> str:
    return wanted.tag or wanted.digest


def _error_event(reason: str) -> Told:
    return "Failed", f"Error: {reason}", True


def _failed(reason: str, event: str, message: str) -> Lacking:
    return Lacking(reason, message, ((event, message, True), _error_event(reason)))


def _not_pulled(image: str, error: str, due: float) -> Lacking:
    pulling = ("Pulling", f'Pulling image "{image}"', False)
    failed = ("Failed", f'Failed to pull image "{image}": {error}', True)
    return Lacking("ErrImagePull", error, (pulling, failed, _error_event("ErrImagePull")), due)
