"""Autoscalers come through both versions unharmed."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.kinds.conversions import convert
from simkit.kinds.strategy import strategy_of
from simkit.meta.names import GroupKind, GroupVersion, GroupVersionKind
from simkit.meta.objects import Draft, Object
from simkit.schema.behaviour import default_behaviour
from simkit.schema.catalogue import Catalogue
from simkit.schema.decoding import normalise
from tests.releases import BASE

NAMES = st.sampled_from(["cpu", "memory", "rps"])
AMOUNTS = st.sampled_from(["1", "500m", "2Gi"])
SELECTORS = st.none() | st.just({"matchLabels": {"a": "b"}})
REFERENCES = st.just({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"})


FIRST, SECOND = "autoscaling/v1", "autoscaling/v2"
CATALOGUE = Catalogue.for_release("1.30")


def shown_in(version: str, obj: Object) -> Draft:
    """The autoscaler as a server shows it in a version."""
    made = convert({"kind": "HorizontalPodAutoscaler", **obj}, version, default_behaviour("1.30"))
    gvk = GroupVersionKind(*GroupVersion.parse(version), "HorizontalPodAutoscaler")
    return normalise(BASE, made, CATALOGUE.schema(gvk))


def present(**values: Any) -> Draft:
    return {name: value for name, value in values.items() if value is not None}


def identifier(name: str, selector: Any) -> Draft:
    return present(name=name, selector=selector)


SHARES = st.builds(lambda share: {"type": "Utilization", "averageUtilization": share}, st.integers(1, 100))
AVERAGES = st.builds(lambda amount: {"type": "AverageValue", "averageValue": amount}, AMOUNTS)
VALUES = st.builds(lambda amount: {"type": "Value", "value": amount}, AMOUNTS)
IDENTIFIERS = st.builds(identifier, NAMES, SELECTORS)
METRICS = st.one_of(
    st.builds(
        lambda name, target: {"type": "Resource", "resource": {"name": name, "target": target}},
        st.just("memory"),
        AVERAGES,
    ),
    st.builds(
        lambda name, target: {
            "type": "ContainerResource",
            "containerResource": {"name": name, "target": target, "container": "c"},
        },
        NAMES,
        SHARES | AVERAGES,
    ),
    st.builds(
        lambda metric, target: {"type": "Pods", "pods": {"metric": metric, "target": target}}, IDENTIFIERS, AVERAGES
    ),
    st.builds(
        lambda metric, target: {"type": "External", "external": {"metric": metric, "target": target}},
        IDENTIFIERS,
        AVERAGES | VALUES,
    ),
    st.builds(
        lambda metric, target, about: {
            "type": "Object",
            "object": {"describedObject": about, "metric": metric, "target": target},
        },
        IDENTIFIERS,
        VALUES,  # an average gains a value of 0 on its way through the first version, as on kube-apiserver
        REFERENCES,
    ),
)
POLICIES = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["Pods", "Percent"]), "value": st.just(1), "periodSeconds": st.just(5)}
    ),
    min_size=1,
    max_size=2,
)
RULES = st.fixed_dictionaries(
    {"selectPolicy": st.just("Max"), "policies": POLICIES}, optional={"stabilizationWindowSeconds": st.integers(0, 60)}
)
BEHAVIORS = st.fixed_dictionaries({}, optional={"scaleUp": RULES, "scaleDown": RULES}).filter(bool)


@st.composite
def autoscalers(draw: st.DrawFn) -> Draft:
    """Autoscalers of the second version; the processor's share comes last, where the first version puts it."""
    metrics = draw(st.lists(METRICS, max_size=2))
    if draw(st.booleans()) or not metrics:
        metrics.append({"type": "Resource", "resource": {"name": "cpu", "target": draw(SHARES)}})
    spec = {"scaleTargetRef": draw(REFERENCES), "minReplicas": 1, "maxReplicas": 3, "metrics": metrics}
    if draw(st.booleans()):
        spec["behavior"] = draw(BEHAVIORS)
    status = {"desiredReplicas": 2, "currentMetrics": None}
    annotations = draw(st.dictionaries(st.sampled_from(["a", "b"]), st.just("x"), max_size=1))
    metadata = {"name": "h", **({"annotations": annotations} if annotations else {})}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }


@settings(max_examples=150)
@given(autoscalers())
def test_the_first_version_keeps_everything(obj: Draft) -> None:
    """An object read in the first version and written back is unchanged."""
    strategy_of(GroupKind("autoscaling", obj["kind"])).default(BASE, obj)
    stored = normalise(BASE, obj, CATALOGUE.schema(GroupVersionKind(*GroupVersion.parse(SECOND), obj["kind"])))
    shown = shown_in(FIRST, stored)
    assert shown_in(SECOND, orjson.loads(orjson.dumps(shown))) == stored
    assert shown_in(FIRST, shown_in(SECOND, shown)) == shown


def test_status_and_conditions() -> None:
    """Current metrics and conditions stand in annotations; the share of the processor in a field too."""
    current = {
        "type": "Resource",
        "resource": {"name": "cpu", "current": {"averageUtilization": 40, "averageValue": "1"}},
    }
    condition = {"type": "AbleToScale", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z"}
    status = {"currentReplicas": 2, "desiredReplicas": 3, "currentMetrics": [current], "conditions": [condition]}
    obj = {"apiVersion": SECOND, "metadata": {"name": "h"}, "spec": {"maxReplicas": 3}, "status": status}
    shown = shown_in(FIRST, obj)
    assert shown["status"] == {"currentReplicas": 2, "desiredReplicas": 3, "currentCPUUtilizationPercentage": 40}
    assert len(shown["metadata"]["annotations"]) == 2
    assert shown_in(SECOND, shown)["status"] == status


def test_annotations_that_cannot_be_read_are_lost() -> None:
    """A broken annotation gives no metrics, and is not kept."""
    notes = {"autoscaling.alpha.kubernetes.io/metrics": "{", "autoscaling.alpha.kubernetes.io/behavior": "[]"}
    written = {"apiVersion": FIRST, "metadata": {"name": "h", "annotations": notes}, "spec": {"maxReplicas": 1}}
    obj = shown_in(SECOND, written)
    share = {"type": "Utilization", "averageUtilization": 80}  # the default of the conversion
    assert obj["spec"]["metrics"] == [{"type": "Resource", "resource": {"name": "cpu", "target": share}}]
    assert not obj["spec"].get("behavior")
    assert "annotations" not in obj["metadata"]


def test_annotations_are_written_as_go_writes_them() -> None:
    """Keys in the order of the structs, and letters of HTML escaped."""
    described = {"apiVersion": "v1", "kind": "Service", "name": "s"}
    rate = {"metric": {"name": "<rps>"}, "target": {"type": "Value", "value": "3"}, "describedObject": described}
    obj = {"apiVersion": SECOND, "metadata": {"name": "h"}, "spec": {"metrics": [{"type": "Object", "object": rate}]}}
    text = shown_in(FIRST, obj)["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/metrics"]
    target = '"target":{"kind":"Service","name":"s","apiVersion":"v1"}'
    assert text == f'[{{"type":"Object","object":{{{target},"metricName":"\\u003crps\\u003e","targetValue":"3"}}}}]'


def test_the_share_of_the_processor_is_found_behind_an_amount_of_it() -> None:
    """The first version shows the first metric of the processor that has a share."""
    amount = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "1"}}}
    share = {"type": "Utilization", "averageUtilization": 60}
    metrics = [amount, {"type": "Resource", "resource": {"name": "cpu", "target": share}}]
    shown = shown_in(FIRST, {"apiVersion": SECOND, "metadata": {"name": "h"}, "spec": {"metrics": metrics}})
    assert shown["spec"]["targetCPUUtilizationPercentage"] == 60
