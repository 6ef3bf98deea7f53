"""The cluster that a test run, or one test, asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.loading import load
from simkit.cluster.options import LATEST, Options
from simkit.meta.clock import SimulatedClock
from simkit.meta.errors import SimkitError

Paths = str | Path | Sequence[str | Path]
"""One path or several."""
FILES: Final = ("crds", "manifests", "dump")
"""The parts that are paths."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The parts that a cluster of a test is made of.

    Attributes
    ----------
    release
        The release that it behaves as.
    crds, manifests
        Files or folders that are applied, definitions first.
    dump
        Files of a dump that it starts with.
    nodes
        The number of simulated nodes.
    simulated_clock
        Whether time stands still until the test lets it pass.
    """

    release: str = LATEST
    crds: tuple[str, ...] = ()
    manifests: tuple[str, ...] = ()
    dump: tuple[str, ...] = ()
    nodes: int = 0
    simulated_clock: bool = False

    def with_changes(self, changes: Mapping[str, Any]) -> Wanted:
        """The same with what a marker says. Raises SimkitError for what markers cannot say."""
        known = {field.name for field in fields(self)}
        unknown = sorted(changes.keys() - known)
        if unknown:
            raise SimkitError(f"the marker simkit knows {', '.join(sorted(known))}, not {', '.join(unknown)}")
        given: dict[str, Any] = {name: listed(value) if name in FILES else value for name, value in changes.items()}
        return replace(self, **given)

    def made(self) -> Cluster:
        """A cluster of this kind."""
        clock = SimulatedClock() if self.simulated_clock else None
        options = Options(release=self.release, seed=0, clock=clock)
        cluster = Cluster.load(list(self.dump), options=options) if self.dump else Cluster(options=options)
        for path in (*self.crds, *self.manifests):
            _apply(cluster, Path(path))
        if self.nodes:
            cluster.add_nodes(self.nodes)
        if not self.dump:
            cluster.settle()
        return cluster


def listed(paths: Paths) -> tuple[str, ...]:
    """One path or several."""
    return tuple(map(str, [paths] if isinstance(paths, str | Path) else paths))


def _apply(cluster: Cluster, path: Path) -> None:
    if not path.exists():
        raise SimkitError(f"{path} is not there")
    for each in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if each.suffix in (".yaml", ".yml", ".json"):
            cluster.apply(each)
    cluster.settle()


_MADE = pytest.StashKey[dict[Wanted, Cluster]]()
_LOADED = pytest.StashKey[Cluster]()


def expectation_sources(config: pytest.Config) -> list[str]:
    """The dumps and manifests that expectations are about."""
    return [*config.getoption("--cluster"), *config.getoption("--cluster-manifests")]


def loaded_cluster(config: pytest.Config) -> Cluster:
    """The cluster that expectations are about, loaded once."""
    if _LOADED not in config.stash:
        dumps, manifests = config.getoption("--cluster"), config.getoption("--cluster-manifests")
        if bool(dumps) is bool(manifests):
            raise pytest.UsageError("say what the tests are about: --cluster PATH or --cluster-manifests PATH")
        config.stash[_LOADED] = load(dumps or manifests, manifests=bool(manifests))
    return config.stash[_LOADED]


def wanted_by(config: pytest.Config, marker: pytest.Mark | None) -> Wanted:
    """The parts that the command line, the ini file and a marker ask for; the marker counts first."""

    def listed(name: str) -> Sequence[str]:
        root = config.rootpath
        return [str(root / each) for each in (config.getoption(f"--simkit-{name}") or config.getini(f"simkit_{name}"))]

    said = Wanted(
        release=config.getoption("--simkit-release") or config.getini("simkit_release") or LATEST,
        crds=tuple(listed("crds")),
        manifests=tuple(listed("manifests")),
        dump=tuple(listed("dump")),
        nodes=int(config.getoption("--simkit-nodes") or config.getini("simkit_nodes") or 0),
    )
    return said if marker is None else said.with_changes(marker.kwargs)


def base_cluster(config: pytest.Config, wanted: Wanted) -> Cluster:
    """The cluster from which tests get their forks, made once for each kind."""
    made = config.stash.setdefault(_MADE, {})
    if wanted not in made:
        made[wanted] = wanted.made()
    return made[wanted]
