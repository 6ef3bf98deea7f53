"""Flags of components: in static pods, in kubeadm's configuration, in the configuration of kubelets.

Configurations are also found in the config maps that kubeadm keeps them in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import pairwise
from typing import Any, Final, NamedTuple

from simkit.language.yaml.complaints import BrokenText
from simkit.language.yaml.decode import decode
from simkit.meta.objects import Object, at, name_of
from simkit.schema.admissionplugins import plugins_of, span
from simkit.schema.feature_gates import history_of, known
from simkit.schema.releases import RELEASES

COMPONENTS: Final = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy")
GATES: Final = "feature-gates"
PLUGIN_FLAGS: Final = ("enable-admission-plugins", "disable-admission-plugins", "admission-control")
_KUBEADM: Final = (
    ("kube-apiserver", ("apiServer", "extraArgs")),
    ("kube-controller-manager", ("controllerManager", "extraArgs")),
    ("kube-scheduler", ("scheduler", "extraArgs")),
    ("kubelet", ("nodeRegistration", "kubeletExtraArgs")),
)
_CONFIGURATIONS: Final = {"KubeletConfiguration": "kubelet", "KubeProxyConfiguration": "kube-proxy"}
_PARTS: Final = ("ClusterConfiguration", "InitConfiguration", "JoinConfiguration")
MARKS: Final = (*(f'"{name}'.encode() for name in COMPONENTS), b"Configuration", b"/kube")
"""The texts of which one occurs in every object with settings."""


class Setting(NamedTuple):
    """One flag of a component, or what a configuration file has instead of it."""

    component: str
    flag: str
    value: str
    path: tuple[str, ...]


def documents(obj: Object) -> Iterator[tuple[Mapping[str, Any], tuple[str, ...]]]:
    """The configurations within a config map, each with its path."""
    if obj.get("kind") != "ConfigMap" or not name_of(obj).startswith(
        ("kubeadm-config", "kubelet-config", "kube-proxy")
    ):
        return
    data = obj.get("data")
    for name, text in data.items() if isinstance(data, Mapping) else ():
        with suppress(BrokenText):
            value = decode(str(text))
            if isinstance(value, Mapping):
                yield value, ("data", str(name))


def settings(obj: Object, templates: list[tuple[tuple[str, ...], Mapping[str, Any]]]) -> Iterator[Setting]:
    """The flags that an object gives to components of Kubernetes. ``documents`` gives those within it."""
    for path, template in templates:
        containers = at(template, "spec", "containers")
        for index, container in enumerate(containers if isinstance(containers, list) else ()):
            if isinstance(container, Mapping):
                yield from _of_container(container, (*path, "spec", "containers", f"[{index}]"))
    yield from _of_configuration(obj)


def _of_container(container: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[Setting]:
    words = [(name, index, word) for name in ("command", "args") for index, word in _texts(container.get(name))]
    component = next((_component(word) for _, _, word in words if _component(word)), "")
    if not component:
        return
    for name, index, word in words:
        if word.startswith("--"):
            flag, _, value = word.removeprefix("--").partition("=")
            yield Setting(component, flag, value, (*path, name, f"[{index}]"))


def _texts(value: Any) -> list[tuple[int, str]]:
    return [(index, word) for index, word in enumerate(value if isinstance(value, list) else ()) if type(word) is str]


def _component(word: str) -> str:
    name = word.rpartition("/")[2]
    return name if name in COMPONENTS else ""


def _of_configuration(value: Object) -> Iterator[Setting]:
    kind = value.get("kind")
    if isinstance(kind, str) and kind in _CONFIGURATIONS:
        gates = value.get("featureGates")
        for name, on in gates.items() if isinstance(gates, Mapping) else ():
            yield Setting(_CONFIGURATIONS[kind], GATES, f"{name}={str(on).lower()}", ("featureGates", str(name)))
    elif kind in _PARTS:
        for component, place in _KUBEADM:
            yield from _of_arguments(component, at(value, *place), place)


def _of_arguments(component: str, arguments: Any, path: tuple[str, ...]) -> Iterator[Setting]:
    """Arguments as a mapping, or since kubeadm v1beta4 as a list of names and values."""
    if isinstance(arguments, Mapping):
        for name, value in arguments.items():
            yield Setting(component, str(name), str(value), (*path, str(name)))
    elif isinstance(arguments, list):
        for index, each in enumerate(arguments):
            if isinstance(each, Mapping):
                yield Setting(component, str(each.get("name")), str(each.get("value")), (*path, f"[{index}]"))


def gate_changes(setting: Setting) -> Iterator[tuple[str, str]]:
    """The releases at which a component stops to start with one of its gates, and why."""
    for word in setting.value.split(","):
        name, _, value = word.strip().partition("=")
        wanted = value.strip().lower() in ("true", "1", "t")
        for before, release in pairwise(RELEASES):
            old, new = known(before).get(name), known(release).get(name)
            if new is not None and new.locked and new.default != wanted and not (old is not None and old.locked):
                yield release, f"The feature gate {name} is locked to {str(new.default).lower()}"
            elif old is not None and new is None and history_of(name):
                yield release, f"The feature gate {name} is gone"


def plugin_changes(setting: Setting) -> Iterator[tuple[str, str]]:
    """The releases at which kube-apiserver stops to know one of the admission plugins of a flag, and why."""
    for name in filter(None, (word.strip() for word in setting.value.split(","))):
        _, last = span(name)
        if last and name in plugins_of(last):
            yield f"1.{int(last.partition('.')[2]) + 1}", f"The admission plugin {name} is gone"
