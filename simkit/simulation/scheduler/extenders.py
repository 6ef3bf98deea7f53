"""The questions of the scheduler to its extenders, and what their answers mean.

Upstream: pkg/scheduler/extender.go, pkg/scheduler/schedule_one.go and k8s.io/kube-scheduler/extender/v1, release 1.30.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import orjson

from simkit.engine.controllers.lister import uid_of
from simkit.engine.egress.answer_json import parse_answer
from simkit.meta.objects import Object, at
from simkit.simulation.scheduler.candidate import Candidate
from simkit.simulation.scheduler.extender_config import Extender
from simkit.simulation.scheduler.node_info import NodeInfo, PodInfo
from simkit.simulation.scheduler.rejection import Rejection, SchedulingError

_SCALE: Final = 10
"""The highest score of a node divided by the highest that an extender gives."""


class ExtenderError(Exception):
    """A call of an extender that failed; the text is kube-scheduler's."""


Post = Callable[[Extender, str, bytes], bytes | None]
"""Posts a document to a verb of an extender; None where nothing may leave the process. Raises ExtenderError."""


def no_calls(extender: Extender, verb: str, body: bytes) -> bytes | None:
    """None: no extender is called."""
    return None


class Extenders:
    """The extenders of a scheduler, in their order.

    Parameters
    ----------
    post
        Sends a document to one of them.
    """

    def __init__(self, known: Sequence[Extender] = (), post: Post = no_calls) -> None:
        self.known, self._post = known, post

    def _concerned(self, pod: PodInfo, verb: str) -> Iterable[Extender]:
        return [each for each in self.known if getattr(each, verb) and _interested(each, pod.pod)]

    def filter(self, pod: PodInfo, feasible: Sequence[NodeInfo]) -> tuple[list[NodeInfo], dict[str, Rejection]]:
        """The nodes that all extenders keep, and why others do not fit. Raises SchedulingError."""
        left, rejections = list(feasible), dict[str, Rejection]()
        for each in self._concerned(pod, "filter_verb"):
            if not left:
                break
            try:
                answer = self._ask(each, each.filter_verb, _question(each, pod, left))
                if answer is not None:
                    left, refused = _filtered(each, answer, left)
                    rejections |= refused
            except ExtenderError as error:
                if not each.ignorable:
                    raise SchedulingError(str(error)) from error
        return left, rejections

    def scores(self, pod: PodInfo, feasible: Sequence[NodeInfo]) -> dict[str, int]:
        """The amounts that extenders add to the scores of nodes. An extender that fails adds nothing."""
        totals: dict[str, int] = {}
        for each in self._concerned(pod, "prioritize_verb"):
            try:
                answer = self._ask(each, each.prioritize_verb, _question(each, pod, feasible))
                for one in _list(each, answer):
                    host, score = _text(each, _field(one, "Host")), _number(each, _field(one, "Score"))
                    totals[host] = totals.get(host, 0) + score * each.weight * _SCALE
            except ExtenderError:
                continue
        return totals

    def bind(self, pod: PodInfo, node: str) -> bool:
        """True if an extender has bound a pod to a node. Raises SchedulingError."""
        for each in self._concerned(pod, "bind_verb"):
            question = {"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": uid_of(pod.pod), "Node": node}
            try:
                answer = self._ask(each, each.bind_verb, question)
                if answer is not None:
                    _raise_for(each, answer)
                    return True
            except ExtenderError as error:
                if not each.ignorable:
                    raise SchedulingError(str(error)) from error
        return False

    def preempt(self, pod: PodInfo, candidates: Sequence[Candidate]) -> list[Candidate]:
        """The candidates that extenders keep, with the victims that they name. Raises SchedulingError."""
        left = list(candidates)
        for each in self._concerned(pod, "preempt_verb"):
            try:
                answer = self._ask(each, each.preempt_verb, _preemption(each, pod, left)) if left else None
                left = left if answer is None else _kept(each, answer, left)
            except ExtenderError as error:
                if not each.ignorable:
                    raise SchedulingError(str(error)) from error
        return left

    def _ask(self, extender: Extender, verb: str, question: Mapping[str, Any]) -> Any:
        content = self._post(extender, verb, orjson.dumps(question))
        if content is None:
            return None
        try:
            return parse_answer(content)
        except json.JSONDecodeError as error:
            raise ExtenderError("the answer is no JSON") from error


def _interested(extender: Extender, pod: Object) -> bool:
    """True if a pod asks for a resource that an extender manages."""
    containers = [*(at(pod, "spec", "containers") or ()), *(at(pod, "spec", "initContainers") or ())]
    amounts = [at(each, "resources", part) or {} for each in containers for part in ("requests", "limits")]
    return not extender.managed or any(extender.managed & each.keys() for each in amounts)


# Questions, whose fields are named as in Go


def _sent(obj: Object) -> dict[str, Any]:
    """An object as an informer holds it: without its kind."""
    return {name: value for name, value in obj.items() if name not in ("kind", "apiVersion")}


def _question(extender: Extender, pod: PodInfo, nodes: Sequence[NodeInfo]) -> dict[str, Any]:
    if extender.knows_nodes:
        return {"Pod": _sent(pod.pod), "Nodes": None, "NodeNames": [each.name for each in nodes]}
    items = [_sent(each.object) for each in nodes]
    return {"Pod": _sent(pod.pod), "Nodes": {"metadata": {}, "items": items}, "NodeNames": None}


def _preemption(extender: Extender, pod: PodInfo, candidates: Sequence[Candidate]) -> dict[str, Any]:
    def victims(candidate: Candidate) -> dict[str, Any]:
        listed = [{"UID": uid_of(each.pod)} if extender.knows_nodes else _sent(each.pod) for each in candidate.victims]
        return {"Pods": listed, "NumPDBViolations": candidate.violations}

    by_node = {each.info.name: victims(each) for each in candidates}
    whole, named = (None, by_node) if extender.knows_nodes else (by_node, None)
    return {"Pod": _sent(pod.pod), "NodeNameToVictims": whole, "NodeNameToMetaVictims": named}


# Answers, whose fields are found in any case, as Go reads JSON


def _field(answer: Any, name: str) -> Any:
    if not isinstance(answer, Mapping):
        return None
    return answer.get(name, next((value for key, value in answer.items() if key.lower() == name.lower()), None))


def _wrong(extender: Extender, value: Any, wanted: str) -> ExtenderError:
    found = {str: "string", bool: "bool", list: "array", dict: "object"}.get(type(value), "number")
    return ExtenderError(f"json: cannot unmarshal {found} into Go value of type {wanted}")


def _list(extender: Extender, value: Any) -> Sequence[Any]:
    if value is None or isinstance(value, list):
        return value or []
    raise _wrong(extender, value, "[]v1.HostPriority")


def _text(extender: Extender, value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    raise _wrong(extender, value, "string")


def _number(extender: Extender, value: Any) -> int:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value or 0
    raise _wrong(extender, value, "int64")


def _map(extender: Extender, value: Any) -> Mapping[str, Any]:
    if value is None or isinstance(value, Mapping):
        return value or {}
    raise _wrong(extender, value, "map[string]string")


def _raise_for(extender: Extender, answer: Any) -> None:
    """Raise ExtenderError for the error that an answer tells."""
    told = _text(extender, _field(_map(extender, answer), "Error"))
    if told:
        raise ExtenderError(told)


def _filtered(
    extender: Extender, answer: Any, nodes: Sequence[NodeInfo]
) -> tuple[list[NodeInfo], dict[str, Rejection]]:
    _raise_for(extender, answer)
    by_name, names = {each.name: each for each in nodes}, _field(answer, "NodeNames")
    if not extender.knows_nodes or names is None:
        items = _list(extender, _field(_field(answer, "Nodes"), "items"))
        names = [_text(extender, at(_map(extender, each), "metadata", "name")) for each in items]
    left = []
    for name in _list(extender, names):
        if _text(extender, name) not in by_name:
            text = f"claims a filtered node {json.dumps(name)} which is not found in the input node list"
            raise ExtenderError(f"extender {json.dumps(extender.url)} {text}")
        left.append(by_name[name])
    refused: dict[str, Rejection] = {}
    for field, resolvable in (("FailedNodes", True), ("FailedAndUnresolvableNodes", False)):
        for name, why in _map(extender, _field(answer, field)).items():
            refused[name] = Rejection((_text(extender, why),), resolvable)
    return left, refused


def _kept(extender: Extender, answer: Any, candidates: Sequence[Candidate]) -> list[Candidate]:
    known = {each.info.name: each for each in candidates}
    found = []
    for node, told in _map(extender, _field(answer, "NodeNameToMetaVictims")).items():
        if node not in known:
            raise ExtenderError(f'nodeinfo not found for node name "{node}"')
        candidate = known[node]
        named = [_text(extender, _field(each, "UID")) for each in _list(extender, _field(told, "Pods"))]
        if not named:
            if extender.ignorable:
                continue
            raise ExtenderError(f'expected at least one victim pod on node "{node}"')
        pods = {uid_of(each.pod): each for each in candidate.info.pods.values()}
        missing = [uid for uid in named if uid not in pods]
        if missing:
            text = f"claims to preempt pod (UID: &{{{missing[0]}}}) on node: {node}"
            raise ExtenderError(f"extender: {extender.url} {text}, but the pod is not found on that node")
        violations = _number(extender, _field(told, "NumPDBViolations"))
        found.append(replace(candidate, victims=tuple(pods[uid] for uid in named), violations=violations))
    return found
