"""An admission plugin: images have a tag other than latest, or a digest."""

from simkit.meta.errors import forbidden
from simkit.meta.names import GroupResource
from simkit.meta.objects import at
from simkit.seams import AdmissionContext, Operation, Review


class PinnedImages:
    """Refuses pods with images that may change.

    Parameters
    ----------
    trusted
        Prefixes of images that need no tag.
    """

    name = "PinnedImages"
    operations: frozenset[Operation] = frozenset({"CREATE", "UPDATE"})
    resources = frozenset({GroupResource("", "pods")})  # None would mean all
    leaves_process = False

    def __init__(self, trusted: tuple[str, ...] = ()) -> None:
        self._trusted = trusted

    def validate(self, review: Review) -> None:  # a plugin that changes objects has mutate instead, or both
        for container in at(review.object, "spec", "containers") or ():
            image = str(container.get("image", ""))
            if not image.startswith(self._trusted) and not _is_pinned(image):
                raise forbidden(review.resource, review.name, f"image {image} needs a tag other than latest")


def pinned_images(context: AdmissionContext) -> PinnedImages:
    """The plugin with its settings in the file of ``admission_control_config_file``."""
    return PinnedImages(tuple(context.of(PinnedImages.name).get("trusted") or ()))


def _is_pinned(image: str) -> bool:
    tag = image.rpartition("/")[2].partition(":")[2]
    return "@" in image or tag not in ("", "latest")
