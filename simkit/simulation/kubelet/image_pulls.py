"""Images of containers: whether one can be pulled, and the pauses between attempts.

Upstream: pkg/kubelet/images/image_manager.go (``EnsureImageExists``), releases 1.30 and 1.32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from simkit.client.lister import uid_of
from simkit.meta.objects import Object
from simkit.simulation.kubelet.behaviour import Behaviours
from simkit.simulation.kubelet.images import BadReference, Reference, reference

Told = tuple[str, str, bool]
"""Reason and message of an event, and whether it is a warning."""
_FIRST_PAUSE: Final = 10.0
_LONGEST_PAUSE: Final = 300.0
_NEXT_LOOK: Final = 1.0
"""Seconds after which a kubelet looks again at a container whose image was not pulled."""
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

    @property
    def over(self) -> float:
        """The end of the pause."""
        return self.at + float(min(_FIRST_PAUSE * 2.0 ** min(self.count - 1, 10), _LONGEST_PAUSE))


class ImagePulls:
    """The pulls of a cluster's kubelets.

    Parameters
    ----------
    behaviours
        The images that cannot be pulled.
    tells_cause
        Whether containers tell the last error while they wait for the next attempt (from 1.32 on).
    """

    def __init__(self, behaviours: Behaviours, *, tells_cause: bool) -> None:
        self._behaviours, self._tells_cause = behaviours, tells_cause
        self._failures: dict[str, dict[str, _Failure]] = {}

    def lacking(self, pod: Object, container: Mapping[str, Any], now: float) -> Lacking | None:
        """The reason why a container cannot start for want of its image; None if it can."""
        image, own = str(container.get("image", "")), self._failures.get(uid_of(pod), {})
        try:
            wanted = reference(image)
        except BadReference as error:
            cause = f'couldn\'t parse image reference "{image}": {error}'
            return _failed("InvalidImageName", "InspectFailed", f'Failed to apply default image tag "{image}": {cause}')
        name, trouble = str(container.get("name", "")), self._error(pod, container, wanted)
        if not trouble:
            own.pop(name, None)
            return None
        if container.get("imagePullPolicy") == "Never":
            text = f'Container image "{image}" is not present with pull policy of Never'
            return _failed("ErrImageNeverPull", "ErrImageNeverPull", text)
        known = own.get(name)
        if known is None or known.image != image:
            known = self._failures.setdefault(uid_of(pod), {})[name] = _Failure(image, 0, now)
        elif now < known.over:
            return self._waiting(known, trouble)
        known.count, known.at, known.told = known.count + 1, now, False
        return _not_pulled(image, trouble, now + _NEXT_LOOK)

    def _waiting(self, failure: _Failure, error: str) -> Lacking:
        text = f'Back-off pulling image "{failure.image}"'
        events = () if failure.told else (("BackOff", text, False), _error_event("ImagePullBackOff"))
        failure.told = True
        message = f"{text}: ErrImagePull: {error}" if self._tells_cause else text
        return Lacking("ImagePullBackOff", message, events, failure.over)

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

    def events_of_start(self, container: Mapping[str, Any], restarts: int) -> list[Told]:
        """The events about the image of a container that starts: pulled at its first start, or always."""
        image, policy = str(container.get("image", "")), container.get("imagePullPolicy")
        if policy == "Never" or (restarts and policy != "Always"):
            return [("Pulled", f'Container image "{image}" already present on machine', False)]
        return [
            ("Pulling", f'Pulling image "{image}"', False),
            ("Pulled", f'Successfully pulled image "{image}" in 0s (0s including waiting)', False),
        ]

    def forget(self, pod: Object) -> None:
        """Forget a pod that is gone."""
        self._failures.pop(uid_of(pod), None)

    def resume_from(self, other: ImagePulls) -> None:
        """Know the attempts of another one, for a fork."""
        self._failures = {
            uid: {name: replace(each) for name, each in own.items()} for uid, own in other._failures.items()
        }


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
