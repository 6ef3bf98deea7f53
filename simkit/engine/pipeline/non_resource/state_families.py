"""Metrics of the state of a server: feature gates, stored objects, registered servers.

Upstream: k8s.io/component-base/metrics/prometheus/feature/metrics.go, k8s.io/apiserver/pkg/storage/etcd3/metrics and
k8s.io/kube-aggregator/pkg/controllers/status/metrics, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from simkit.engine.pipeline.api_services import SERVICES, is_available
from simkit.meta.objects import name_of
from simkit.schema.feature_gates import known

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from simkit.engine.pipeline.engine import Engine


def state_families(engine: Engine) -> Iterator[Metric]:
    """The families of an engine's state. O(stored resources, feature gates and registered servers)."""
    yield _features(engine)
    yield _objects(engine)
    yield _objects_by_group(engine)
    yield _unavailable(engine)


def _features(engine: Engine) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(
        "kubernetes_feature_enabled", "Whether a feature gate is on (1) or not (0).", labels=("name", "stage")
    )
    for name, gate in sorted(known(engine.catalogue.release).items()):
        stage = "" if gate.stage == "GA" else gate.stage
        family.add_metric((name, stage), float(engine.gates.get(name, gate.default)))
    return family


def _objects(engine: Engine) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily("apiserver_storage_objects", "Objects that are stored.", labels=("resource",))
    for resource in engine.catalogue.stored():
        family.add_metric((str(resource.storage),), engine.store.count(resource.storage))
    return family


def _objects_by_group(engine: Engine) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily("apiserver_resource_objects", "Objects that are stored.", labels=("group", "resource"))
    for resource in engine.catalogue.stored():
        storage = resource.storage
        family.add_metric((storage.group, storage.resource), engine.store.count(storage))
    return family


def _unavailable(engine: Engine) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(
        "aggregator_unavailable_apiservice",
        "Whether a registered server cannot be used (1) or can (0).",
        labels=("name",),
    )
    for entry in engine.store.scan(SERVICES):
        family.add_metric((name_of(entry.object),), float(not is_available(entry.object)))
    return family
