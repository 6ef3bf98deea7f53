"""The controller that moves objects from stage to stage.

Upstream: sigs.k8s.io/kwok, pkg/kwok/controllers, release 0.7.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from random import Random
from typing import Any, Final

from simkit.engine.controllers.controller_manager import Client, Perform
from simkit.engine.controllers.event_recorder import EventRecorder
from simkit.engine.controllers.lister import Lister
from simkit.engine.controllers.resources import NODES, PODS
from simkit.engine.controllers.work_queue import RequeueError
from simkit.engine.seams import Change
from simkit.meta.clock import Clock
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, name_of, namespace_of
from simkit.schema.catalogue import Catalogue
from simkit.schema.resources import Resource
from simkit.simulation.due_times import DueTimes
from simkit.simulation.stages.cel_functions import evaluating
from simkit.simulation.stages.kubelet_functions import Addresses, StageFunctions
from simkit.simulation.stages.lifecycle import USER_AGENT, Lifecycle
from simkit.simulation.stages.stage import Stage, StageEvent, chosen
from simkit.simulation.stages.stage_files import API_VERSION, GROUP, stage_of
from simkit.snapshot.protocol import Snapshot

_LOG: Final = logging.getLogger("simkit.stages")
_FIRST_RETRY: Final = 1.0
_LONGEST_RETRY: Final = 32.0
_STAGES: Final = GroupResource(GROUP, "stages")
_OF_NODES: Final = frozenset({("", "Pod"), ("", "Node")})
"""The kinds whose stages concern the nodes only that were added with them."""


class StageController:
    """Carries out the stages of nodes, of their pods, and of any other kind.

    Parameters
    ----------
    perform
        Sends requests in the name of an identity.
    catalogue
        What is served.
    addresses
        The addresses of nodes and pods.
    seed
        Makes chances and delays the same every time.
    """

    name = "simulated-stages"
    account = "system:simulated-stages"

    def __init__(
        self,
        clock: Clock,
        perform: Perform,
        catalogue: Callable[[], Catalogue],
        addresses: Addresses,
        seed: int | None = None,
    ) -> None:
        self._clock, self._catalogue, self._addresses = clock, catalogue, addresses
        self._random = Random(seed)
        self._lifecycle = Lifecycle(perform, catalogue)
        self._functions = StageFunctions(clock, addresses, self._random)
        self._recorder = EventRecorder(clock, USER_AGENT)
        self._of_node: dict[str, Sequence[Stage]] = {}
        self._others: list[Stage] = []
        self._objects: dict[str, Stage] = {}
        """Stages that are objects of the cluster, by name."""
        self._waiting: dict[Key, tuple[Stage, int]] = {}
        """The next stage of each object, and how often it has failed."""
        self._due = DueTimes()
        self._fresh = False
        """True if all objects are to be looked at, since there are other stages."""
        self._resources: tuple[Catalogue, Mapping[GroupResource, Resource]] | None = None

    def add(self, stages: Sequence[Stage], nodes: Collection[str]) -> None:
        """Have stages drive some nodes and their pods, and, of other kinds, all objects."""
        own = [each for each in stages if (each.kind.group, each.kind.kind) in _OF_NODES]
        self._of_node |= dict.fromkeys(nodes, own)
        self._others += [each for each in stages if each not in own and each not in self._others]
        self._fresh = True
        self._resources = None

    # The controller

    @property
    def next_time(self) -> float | None:
        return 0.0 if self._fresh else self._due.first

    def concerns(self, change: Change) -> bool:
        resource = change.entry.key.resource
        if resource == _STAGES:
            return True
        return bool(self._of_node or self._others or self._objects) and resource in self._served()

    def reset_backoff(self) -> None:
        """Stages come at their times."""

    def resume_from(self, other: StageController) -> None:
        """Know the stages and times of the one that this is a fork of."""
        self._of_node, self._others = dict(other._of_node), list(other._others)
        self._waiting, self._fresh, self._objects = dict(other._waiting), other._fresh, dict(other._objects)
        self._due.copy_from(other._due)
        self._random.setstate(other._random.getstate())

    def sync(self, client: Client, snapshot: Snapshot, changes: Sequence[Change] | None = None) -> None:
        lister = Lister(snapshot)
        self._take_stages(snapshot, changes)
        if changes is None or self._fresh:
            self._fresh = False
            keys = [_key(each, obj) for each in self._served() for obj in snapshot.scan(each)]
        else:
            keys = [change.entry.key for change in changes if change.entry.key.resource != _STAGES]
        for key in dict.fromkeys(keys):
            self._consider(lister, key)
        now = self._clock.now()
        while (due := self._due.take(now)) is not None:
            self._due.drop(due)
            self._carry_out(lister, due, *self._waiting.pop(due))

    # Stages

    def _take_stages(self, snapshot: Snapshot, changes: Sequence[Change] | None) -> None:
        """Take in the stages that are objects; each of them counts from now on, and all objects are looked at."""
        if changes is None:
            found = {name_of(each): each for each in snapshot.scan(_STAGES)}
            gone = self._objects.keys() - found.keys()
        else:
            told = {each.entry.key.name: each for each in changes if each.entry.key.resource == _STAGES}
            gone = {name for name, each in told.items() if each.type == "DELETED"}
            found = {name: each.entry.object for name, each in told.items() if name not in gone}
        known = dict(self._objects)
        for name in gone:
            self._objects.pop(name, None)
        for name, obj in found.items():
            self._objects.pop(name, None)
            try:
                self._objects[name] = stage_of({**obj, "apiVersion": API_VERSION})
            except SimkitError as error:
                self._recorder.event(self._lifecycle, obj, "StageInvalid", str(error), warning=True)
        if self._objects != known:
            self._fresh, self._resources = True, None

    def _served(self) -> Mapping[GroupResource, Resource]:
        """The resources that stages are for, as far as they are served now."""
        catalogue = self._catalogue()
        if self._resources is None or self._resources[0] is not catalogue:
            kinds = {each.kind for each in (*self._others, *self._objects.values())}
            kinds |= {
                each.kind for stages in {id(own): own for own in self._of_node.values()}.values() for each in stages
            }
            found = [resource for kind in kinds if (resource := catalogue.kind(kind)) is not None]
            self._resources = catalogue, {each.group_resource: each for each in found}
        return self._resources[1]

    def _stages_for(self, resource: GroupResource, obj: Object) -> Sequence[Stage]:
        found: Sequence[Stage] = tuple(self._objects.values())
        if resource in (PODS, NODES):
            node = str(at(obj, "spec", "nodeName") or "") if resource == PODS else name_of(obj)
            simulated = bool(self._addresses.node_address(node))
            found = (*self._of_node.get(node, ()), *found) if simulated else ()
        else:
            found = (*self._others, *found)
        served = self._served().get(resource)
        kind = served.gvk if served is not None else None
        return [each for each in found if each.kind == kind]

    def _consider(self, lister: Lister, key: Key) -> None:
        """Find the next stage of an object, and wait for it."""
        self._waiting.pop(key, None)
        self._due.drop(key)
        obj = lister.get(key)
        stages = self._stages_for(key.resource, obj) if obj is not None else ()
        if obj is None or not stages:
            return
        now = self._clock.now()
        with evaluating(now, self._random):
            stage = chosen(stages, obj, self._random)
            if stage is not None:
                self._wait(key, now + max(0.0, stage.spec.delay.seconds(obj, now, self._random)), stage, 0)

    def _wait(self, key: Key, when: float, stage: Stage, failures: int) -> None:
        self._waiting[key] = (stage, failures)
        self._due.set(key, when)

    def _carry_out(self, lister: Lister, key: Key, stage: Stage, failures: int) -> None:
        obj, resource = lister.get(key), self._served().get(key.resource)
        if obj is None or resource is None:
            return

        def tell(event: StageEvent) -> None:
            self._recorder.event(self._lifecycle, obj, event.reason, event.message, warning=event.type == "Warning")

        try:
            self._lifecycle.carry_out(stage, resource, obj, self._functions.of(obj), tell)
        except RequeueError as error:
            _LOG.warning("stage %s of %s: %s", stage.name, key, error)
            pause = min(_FIRST_RETRY * 2.0 ** min(failures, 10), _LONGEST_RETRY)
            self._wait(key, self._clock.now() + pause, stage, failures + 1)
        except SimkitError as error:
            _LOG.warning("stage %s of %s: %s", stage.name, key, error)
            tell(StageEvent(type="Warning", reason="StageFailed", message=f"stage {stage.name}: {error}"))


def _key(resource: GroupResource, obj: Any) -> Key:
    return Key(resource, namespace_of(obj), name_of(obj))


def drives(stages: Sequence[Stage], kind: str) -> bool:
    """True if stages are for a kind of the core group, so that kubelets leave it to them."""
    return any(each.kind.group == "" and each.kind.kind == kind for each in stages)
