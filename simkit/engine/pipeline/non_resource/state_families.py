"""Metrics of the state of a server: feature gates, stored objects, registered servers.

Upstream: k8s.io/component-base/metrics/prometheus/feature/metrics.go, k8s.io/apiserver/pkg/storage/etcd3/metrics and
k8s.io/kube-aggregator/pkg/controllers/status/metrics, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from simkit.engine.pipeline.api_services import SERVICES, is_available
from simkit.engine.pipeline.metrics.families import BY_RESOURCE
from simkit.meta.objects import name_of
from simkit.schema.feature_gates import known
from simkit.schema.releases import minor_of

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from simkit.engine.pipeline.engine import Engine

_SHOWN: Final = 10**15
"""Of a revision, fifteen digits are told: more, a float does not hold."""


def state_families(engine: Engine) -> Iterator[Metric]:
    """The families of an engine's state. O(stored resources, feature gates and registered servers)."""
    yield _features(engine)
    yield _objects(engine)
    yield _objects_by_group(engine)
    yield _unavailable(engine)
    yield from _allocated(engine)
    yield from _watch_cache(engine)
    yield _version(engine)


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


def _allocated(engine: Engine) -> Iterator[Metric]:
    from prometheus_client.core import GaugeMetricFamily

    ranges, ports = engine.registry.allocation.present()
    for index, (word, text) in enumerate((("allocated", "that services have"), ("available", "that are left"))):
        family = GaugeMetricFamily(
            f"kube_apiserver_clusterip_allocator_{word}_ips", f"Addresses {text}.", labels=("cidr",)
        )
        for cidr, numbers in ranges.items():
            family.add_metric((cidr,), numbers[index])
        yield family
        yield GaugeMetricFamily(f"kube_apiserver_nodeport_allocator_{word}_ports", f"Ports {text}.", ports[index])


def _watch_cache(engine: Engine) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    release, cache = engine.catalogue.release, engine.watch_cache
    labels = BY_RESOURCE.labels_at(release)
    initialized = CounterMetricFamily(
        "apiserver_watch_cache_initializations_total", "Starts of the watch cache.", labels=labels
    )
    received = CounterMetricFamily(
        "apiserver_watch_cache_events_received_total", "Changes that the watch cache was told of.", labels=labels
    )
    newest = GaugeMetricFamily(
        "apiserver_watch_cache_resource_version", "The revision of the watch cache.", labels=labels
    )
    for resource in engine.catalogue.stored():
        told = BY_RESOURCE.values_at(release, (resource.storage.group, resource.storage.resource))
        initialized.add_metric(told, 1)
        received.add_metric(told, cache.received(resource.storage))
        newest.add_metric(told, cache.revision % _SHOWN)
    yield initialized
    yield received
    yield newest


def _version(engine: Engine) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    release = engine.catalogue.release
    family = GaugeMetricFamily(
        "version_info", "The release that is served.", labels=("binary", "component", "emulation", "min_compat")
    )
    family.add_metric((release, "kube", release, f"1.{minor_of(release) - 1}"), 1)
    return family
