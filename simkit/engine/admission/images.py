"""The admission plugin AlwaysPullImages, which sets the pull policy of every container to Always."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simkit.engine.admission.plugin_attributes import PODS, WRITES, Handler, admission_forbidden, with_spec, written
from simkit.meta.fielderror import unsupported
from simkit.meta.objects import Object, at
from simkit.meta.podspec import CONTAINER_LISTS, containers_of
from simkit.seams import Review

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
