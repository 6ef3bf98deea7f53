"""Parts by name: those of simkit, and those that installed packages register as entry points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from simkit.meta.clock import Clock
from simkit.meta.errors import SimkitError
from simkit.meta.foreign import described, passes
from simkit.seams.snapshot import Snapshot

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Part = TypeVar("Part")


class PartContext(Protocol):
    """The server for which a part is made. The callables that packages register take it as their only argument."""

    @property
    def clock(self) -> Clock:
        """The clock of the server."""
        ...

    @property
    def snapshot(self) -> Callable[[], Snapshot]:
        """The function that returns the objects which are stored now."""
        ...


class AdmissionContext(PartContext, Protocol):
    """The server for which an admission plugin is made."""

    def of(self, name: str) -> Mapping[str, Any]:
        """The settings of a plugin in the file of ``--admission-control-config-file``; empty if it has none."""
        ...


class PartRegistry(Generic[Part]):
    """The parts of one sort, by name.

    A name of simkit always means simkit's part. The entry points of installed packages are read when another name is
    asked for, and only the entry point of that name is imported.

    Parameters
    ----------
    group
        The group of entry points, as ``simkit.authorizers``.
    ours
        The parts of simkit, in their order.
    given
        Parts that the caller passes. They count over those of installed packages with the same name.

    Raises
    ------
    SimkitError
        If a given part has a name of simkit.
    """

    def __init__(self, group: str, ours: Mapping[str, Part], given: Mapping[str, Part] | None = None) -> None:
        self.group, self.ours, self.given = group, ours, dict(given or {})
        for name in self.given:
            if name in ours:
                raise SimkitError(f"{group}: the name {name!r} is taken by simkit; give the part another name")

    def with_given(self, given: Iterable[tuple[str, Part]]) -> PartRegistry[Part]:
        """The same parts, and those that a caller gives, by name. Raises SimkitError if a name is taken."""
        pairs = list(given)
        for name, times in Counter(name for name, _ in pairs).items():
            if times > 1:
                raise SimkitError(f"{self.group}: {times} of the given parts have the name {name!r}")
        return PartRegistry(self.group, self.ours, dict(pairs)) if pairs else self

    def check_name(self, name: str, own: str) -> None:
        """Raise SimkitError if a part of a package calls itself otherwise than it is registered."""
        if own != name:
            raise SimkitError(f"{self.group}: the part that is registered as {name!r} calls itself {own!r}")

    def __contains__(self, name: object) -> bool:
        return name in self.ours or name in self.given or name in self._installed

    def __getitem__(self, name: str) -> Part:
        """The part of a name; one of an installed package is imported.

        Raises
        ------
        KeyError
            If there is none.
        SimkitError
            If the entry point cannot be imported, or if a name is registered twice.
        """
        if name in self.ours:
            return self.ours[name]
        if name in self.given:
            return self.given[name]
        return self._loaded(self._installed[name])

    def __iter__(self) -> Iterator[str]:
        """All names: of simkit in their order, then the given ones, then those of installed packages."""
        yield from self.ours
        yield from self.given
        yield from (name for name in self._installed if name not in self.given)

    def installed(self, names: Collection[str]) -> list[str]:
        """Those of some names that installed packages register, sorted. Without names, nothing is read."""
        return [name for name in self._installed if name in names] if names else []

    @cached_property
    def _installed(self) -> Mapping[str, EntryPoint]:
        """The entry points by name, none of them imported."""
        from importlib.metadata import entry_points  # a parser of e-mail headers, for names that are not ours alone

        found: dict[str, EntryPoint] = {}
        for point in entry_points(group=self.group):
            if point.name in self.ours:
                raise SimkitError(
                    f"{package_of(point)} registers {point.name!r} in {self.group}, which is a name of simkit; "
                    "rename or uninstall it"
                )
            other = found.setdefault(point.name, point)
            if other != point:
                raise SimkitError(
                    f"{package_of(other)} and {package_of(point)} both register {point.name!r} in {self.group}; "
                    "uninstall one of them"
                )
        return dict(sorted(found.items()))

    def _loaded(self, point: EntryPoint) -> Part:
        try:
            part: Part = point.load()
        except BaseException as error:  # whatever a module of another package raises when it is imported, an exit too
            if passes(error):
                raise
            raise SimkitError(
                f"{package_of(point)}: the entry point {point.name!r} in {self.group} ({point.value}) cannot be "
                f"imported: {described(error)}"
            ) from error
        return part


def package_of(point: EntryPoint) -> str:
    """The package of an entry point with its version, for messages."""
    dist = point.dist
    return f"package {dist.name} {dist.version}" if dist is not None else "a package"
