"""The history of a project's APIs, flags, features and metrics: the model of the document."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from simkit.logic.lifecycle.calendar import CADENCE, Calendar, Release, Track, track_of

Stability = Literal["alpha", "beta", "ga", "stable"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _release(value: Any) -> Any:
    """The name of a release, which may be a number unless it would lose a zero: 1.30 in YAML is 1.3."""
    if isinstance(value, float) and len(str(value).partition(".")[2]) < 2:
        raise ValueError(f'{value} may have been written as {value}0: write releases as text, like "{value}0"')
    return str(value) if isinstance(value, int | float) else value


ReleaseName = Annotated[str, BeforeValidator(_release)]


class _Dated(_Part):
    """An element that is introduced, and may be deprecated and removed; all in names of releases."""

    introduced: ReleaseName = ""
    deprecated: ReleaseName = ""
    removed: ReleaseName = ""


class Version(_Dated):
    """A version of a group, or of some kinds of it."""

    name: str
    kinds: tuple[str, ...] = ()
    """The kinds of the version; empty for all of the group."""
    replacement: str = ""
    """The version to use instead, with its group if it differs: ``apps/v1``."""
    decodable_until: str = ""
    """The first release that can no longer read stored objects of it; empty if all can."""

    @property
    def track(self) -> Track:
        return track_of(self.name)

    def is_served(self, place: int, calendar: Calendar) -> bool:
        """True if a release, by its position, serves it."""
        start = calendar.position(self.introduced) if self.introduced else 0
        return start <= place and (not self.removed or place < calendar.position(self.removed))


class Group(_Part):
    """A group with its versions, and the preferred and the stored version from each release on."""

    name: str
    versions: tuple[Version, ...] = ()
    preferred: dict[str, str] = Field(default_factory=dict)
    storage: dict[str, str] = Field(default_factory=dict)


class Change(_Part):
    """A change within a version from a release on, in words; ``narrows`` if valid objects become invalid."""

    release: ReleaseName
    what: str
    narrows: bool = True


class Element(_Dated):
    """A part of a version: a resource, field, annotation, enumerated value or component configuration."""

    sort: Literal["resource", "field", "annotation", "enumerated value", "component configuration"]
    name: str
    group: str = ""
    version: str
    changes: tuple[Change, ...] = ()


class ProtobufField(_Dated):
    """The number of a field in the binary form of a message."""

    message: str
    name: str
    number: int


class RoundTrip(_Part):
    """The data that a conversion to another version and back loses, in one release."""

    release: str
    kind: str
    between: tuple[str, str]
    lost: tuple[str, ...] = ()


class Replacement(_Part):
    """The element to use instead; ``ours`` if the project itself controls it."""

    name: str
    stability: Stability = "ga"
    ours: bool = True
    transition: str = ""
    """The transition, for a replacement that the project does not control."""


class Flag(_Dated):
    """A flag, command or argument; stable unless marked."""

    name: str
    audience: Literal["user", "admin"] = "user"
    stability: Stability = "ga"
    replacement: Replacement | None = None
    warns: bool = True
    """True if each use of the deprecated element warns."""


class Behavior(_Dated):
    """A feature that is neither an API nor a flag; ``deprecated`` is when its end was announced."""

    name: str
    stability: Stability = "ga"
    significant: bool = True
    """True if correctness of workloads or administration depends on it."""
    replacement: Replacement | None = None


class Stage(_Part):
    """A stage of a feature gate from a release on."""

    release: ReleaseName
    stage: Literal["alpha", "beta", "ga", "deprecated"]
    default: bool
    locked: bool = False


class Gate(_Part):
    """A feature gate. The last three fields say whether its deprecation is documented as required."""

    name: str
    stages: tuple[Stage, ...]
    removed: ReleaseName = ""
    warns: bool = True
    release_note: bool = True
    help: bool = True


class Metric(_Dated):
    """A metric. ``hidden`` is the first release that shows it only on demand."""

    name: str
    stability: Stability = "alpha"
    hidden: ReleaseName = ""
    help: str = ""
    warns: bool = True
    """True if its registration logs a warning once it is deprecated."""


class DatedRelease(_Part):
    name: ReleaseName
    date: date


class History(_Part):
    """All elements that the policy covers, for one project.

    ``releases`` may stay empty: then the names are those of Kubernetes releases.
    """

    name: str = ""
    releases: tuple[DatedRelease, ...] = ()
    cadence_months: int = CADENCE
    groups: tuple[Group, ...] = ()
    elements: tuple[Element, ...] = ()
    protobuf: tuple[ProtobufField, ...] = ()
    round_trips: tuple[RoundTrip, ...] = ()
    flags: tuple[Flag, ...] = ()
    behaviors: tuple[Behavior, ...] = ()
    gates: tuple[Gate, ...] = ()
    metrics: tuple[Metric, ...] = ()

    @property
    def calendar(self) -> Calendar:
        if not self.releases:
            return Calendar.of_kubernetes()
        return Calendar([Release(each.name, each.date) for each in self.releases], cadence=self.cadence_months)
