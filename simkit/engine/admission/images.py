"""Admission plugins of images: AlwaysPullImages and ImagePolicyWebhook."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from simkit.engine.admission.plugin_attributes import PODS, WRITES, Handler, admission_forbidden, with_spec, written
from simkit.engine.egress.call import CallFailed, Poster, review_status, status_fields, with_exponential_backoff
from simkit.engine.egress.policy import RememberedAnswers
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import Clock
from simkit.meta.domain import api_group
from simkit.meta.fielderror import unsupported
from simkit.meta.go_json import compact
from simkit.meta.objects import Object, annotations_of, at, null_creation
from simkit.meta.podspec import CONTAINER_LISTS, containers_of
from simkit.seams import Review

# AlwaysPullImages sets the pull policy of every container to Always.
# Upstream: plugin/pkg/admission/alwayspullimages, release 1.30.


class AlwaysPullImages(Handler, operations=WRITES, resources={PODS}):
    """Admits pods whose images are new."""

    def mutate(self, review: Review) -> Object:
        """The pod with the pull policy ``Always`` in every container."""
        pod = written(review)
        if _ignored(review):
            return pod
        changed: dict[str, Any] = {}
        for field in CONTAINER_LISTS:
            present = at(pod, "spec", field)
            if present:
                changed[field] = [{**container, "imagePullPolicy": "Always"} for container in present]
        return with_spec(pod, **changed)

    def validate(self, review: Review) -> None:
        """Raises 403 if a later plugin changed a pull policy."""
        if _ignored(review):
            return
        for field in CONTAINER_LISTS:
            for index, container in enumerate(at(written(review), "spec", field) or ()):
                policy = container.get("imagePullPolicy", "")
                if policy != "Always":
                    path = f"spec.{field}[{index}].imagePullPolicy"
                    raise admission_forbidden(review, unsupported(path, policy, ["Always"]).told(review.behaviour))


def _ignored(review: Review) -> bool:
    if review.subresource:
        return True
    return review.operation == "UPDATE" and _images(written(review)) <= _images(review.old or {})


def _images(pod: Mapping[str, Any]) -> set[str]:
    return {each.get("image", "") for each in containers_of(pod.get("spec") or {})}


# ImagePolicyWebhook asks a webhook whether the images of a pod may run.
# Upstream: plugin/pkg/admission/imagepolicy, release 1.30.

_LOG: Final = logging.getLogger("simkit.admission")
_GROUP: Final = api_group("imagepolicy")
_NOTES: Final = f".{api_group('image-policy')}/"
"""The part of annotation names that is sent to the service."""
_AUDITED: Final = f"imagepolicywebhook{_NOTES}"
_KIND: Final = "ImageReview"
_REMEMBERED: Final = 1024
_EPHEMERAL: Final = "ephemeralcontainers"


@dataclass(frozen=True, slots=True)
class ImagePolicy:
    """The settings for calls of the service. Times are in seconds."""

    allow_ttl: float = 300.0
    deny_ttl: float = 30.0
    backoff: float = 0.5
    default_allow: bool = False
    """True if pods pass where the service cannot be asked."""


class ImagePolicyWebhook(Handler, operations=WRITES, resources={PODS}):
    """Sends all images of a pod in one ImageReview, and caches the answer."""

    leaves_process = True

    def __init__(
        self,
        poster: Poster,
        policy: ImagePolicy,
        clock: Clock,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._poster, self._policy, self._sleep = poster, policy, sleep
        self._answers = RememberedAnswers[Mapping[str, Any]](clock, _REMEMBERED)

    def validate(self, review: Review) -> None:
        """Raises 403 if the service refuses an image, or cannot be called and the default is to deny."""
        if review.subresource not in ("", _EPHEMERAL):
            return
        try:
            status = self._status(review.behaviour, _spec(written(review), review))
        except CallFailed as error:
            _LOG.warning("the image policy webhook failed: %s", error)
            if not self._policy.default_allow:
                raise admission_forbidden(review, str(error)) from error
            review.annotations[f"{_AUDITED}failed-open"] = "true"
            return
        for name, value in (status.get("auditAnnotations") or {}).items():
            review.annotations[f"{_AUDITED}{name}"] = value
        if not status.get("allowed"):
            reason = status.get("reason") or ""
            if reason:
                raise admission_forbidden(review, f"image policy webhook backend denied one or more images: {reason}")
            raise admission_forbidden(review, "one or more images rejected by webhook backend")

    def _status(self, behaviour: ServedBehaviour, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        question = compact(orjson.dumps(spec, option=orjson.OPT_SORT_KEYS))
        known = self._answers.get(question)
        if known is not None:
            return known[0]
        head = {"kind": _KIND, "apiVersion": f"{_GROUP}/v1alpha1", "metadata": null_creation(behaviour)}
        body = orjson.dumps({**head, "spec": spec, "status": {"allowed": False}})
        answer = with_exponential_backoff(self._poster, body, backoff=self._policy.backoff, sleep=self._sleep)
        status = _status_in(answer)
        ttl = self._policy.allow_ttl if status.get("allowed") else self._policy.deny_ttl
        self._answers.keep(question, status, seconds=ttl, size=len(question) + len(answer))
        return status


def _status_in(answer: bytes) -> Mapping[str, Any]:
    """The status of an answered review. Raises CallFailed for anything else."""
    status = status_fields(review_status(answer, _KIND), _KIND, allowed=bool, reason=str, auditAnnotations=dict)
    if not all(isinstance(value, str) for value in status.get("auditAnnotations", {}).values()):
        raise CallFailed(f"the answer is an {_KIND} whose audit annotations cannot be read")
    return status


def _spec(pod: Object, review: Review) -> dict[str, Any]:
    parts = ("ephemeralContainers",) if review.subresource else ("initContainers", "containers")
    images = [{"image": one.get("image") or ""} for part in parts for one in at(pod, "spec", part) or ()]
    spec: dict[str, Any] = {"containers": images, "namespace": review.namespace}
    notes = {name: value for name, value in annotations_of(pod).items() if _NOTES in name}
    return {**spec, "annotations": notes} if notes else spec
