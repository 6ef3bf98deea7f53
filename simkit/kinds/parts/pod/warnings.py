"""Warnings about accepted pods and pod templates.

Follows ``pkg/api/pod/warnings.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from simkit.kinds.parts.pod.profiles import APP_ARMOR, SECCOMP_CONTAINER, SECCOMP_POD, as_field
from simkit.kinds.parts.pod.validation.scheduling import PREFERRED, REQUIRED
from simkit.kinds.parts.pod.validation.security_context import every_container
from simkit.kinds.parts.validation.ip import ip_warnings
from simkit.kinds.parts.validation.object_meta import deprecation, expression_warnings
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import label
from simkit.meta.fielderror import quoted
from simkit.meta.objects import Object, annotations_of, at
from simkit.meta.quantity import NANO, canonical, parse


class _File(NamedTuple):
    path: str
    source: str

    def __str__(self) -> str:
        return f"{quoted(self.path)} ({self.source})" if self.source else quoted(self.path)


def overlap_warnings(behaviour: ServedBehaviour, volumes: Sequence[Object]) -> Iterator[str]:
    """Warnings of each volume whose files have one path, or one the path of a folder of the other."""
    for volume in volumes:
        name = volume.get("name") or ""
        for kind, called, shown in (("configMap", "name", "ConfigMap"), ("secret", "secretName", "Secret")):
            source = volume.get(kind) or {}
            files = [_File(one.get("path") or "", "") for one in source.get("items") or ()]
            yield from _overlaps(name, f"{shown} {quoted(source.get(called) or '')}", files)
        downward = [_File(one.get("path") or "", "") for one in (volume.get("downwardAPI") or {}).get("items") or ()]
        yield from _overlaps(name, "DownwardAPI", downward)
        sources = (volume.get("projected") or {}).get("sources") or ()
        empty = f"volume {quoted(name)} (Projected) has no sources provided"
        files, new = [], []
        for source in sources:
            if not any(part is not None for part in source.values()):
                yield empty
                continue
            found = _files(source)
            if found is not None or not behaviour.applies("sources-without-items-repeat-files"):
                new = list(found or ())
            yield from _overlaps(name, "Projected", new, files)
            files += [_trimmed(one) for one in new]


def _files(source: Object) -> Sequence[_File] | None:
    """The files of one source of a projected volume, of which only the first part counts; None where none is told."""
    for kind, shown in (("configMap", "ConfigMap"), ("secret", "Secret"), ("downwardAPI", "DownwardAPI")):
        part = source.get(kind)
        if part is not None and part.get("items") is not None:
            called = shown if kind == "downwardAPI" else f"{shown} {quoted(part.get('name') or '')}"
            return [_File(one.get("path") or "", called) for one in part["items"]]
    token, bundle = source.get("serviceAccountToken"), source.get("clusterTrustBundle")
    if token is not None:
        return [_File(token.get("path") or "", "ServiceAccountToken")]
    if bundle is not None:
        called = bundle["name"] if bundle.get("name") is not None else bundle.get("signerName") or ""
        return [_File(bundle.get("path") or "", f"ClusterTrustBundle {quoted(called)}")]
    certificate = source.get("podCertificate")
    return [*_certificate_files(certificate)] if certificate is not None else None


def _certificate_files(part: Object) -> Iterator[_File]:
    names = (("certificateChainPath", "chain"), ("keyPath", "key"), ("credentialBundlePath", "credential bundle"))
    return (_File(part[field], f"PodCertificate {shown}") for field, shown in names if part.get(field))


def _overlaps(name: str, shown: str, files: Sequence[_File], before: Sequence[_File] = ()) -> Iterator[str]:
    known = list(before)
    for each in files:
        file = _trimmed(each)
        for other in known:
            if file.path and other.path and (file == other or _nested(file.path, other.path)):
                yield f"volume {quoted(name)} ({shown}): overlapping paths: {file} with {other}"
        known.append(file)


def _trimmed(file: _File) -> _File:
    return file._replace(path=file.path.rstrip("/"))


def _nested(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


_ANNOTATIONS: Final = {
    label("critical-pod", "scheduler.alpha"): 'non-functional in v1.16+; use the "priorityClassName" field instead',
    label("sysctls", "security.alpha"): 'non-functional in v1.11+; use the "sysctls" field instead',
    label("unsafe-sysctls", "security.alpha"): 'non-functional in v1.11+; use the "sysctls" field instead',
}
VOLUMES: Final = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
"""The warnings about types of volumes."""
_SHOWN_VOLUMES: Final = {"storageos": "storageOS"}
_UNTIL_1_26: Final = {
    **dict.fromkeys(("flocker", "storageos", "quobyte"), "deprecated in v1.22, support removal is planned in v1.26"),
    "glusterfs": "deprecated in v1.25, this feature will be removed soon after in a subsequent release",
}
"""The warnings about types of volumes before they were gone."""
_BYTES: Final = ("memory", "ephemeral-storage")


def pod_warnings(behaviour: ServedBehaviour, path: str, holder: Object) -> Iterator[str]:
    """All warnings about a pod (with an empty path) or a template."""
    if not behaviour.applies("pods-warned-of"):
        return
    spec = holder.get("spec") or {}
    at_spec, at_notes = _below(path, "spec"), _below(path, "metadata.annotations")
    yield from _label_warnings(behaviour, at_spec, spec)
    yield from _spread_warnings(behaviour, at_spec, spec)
    notes = annotations_of(holder)
    yield from (f"{at_notes}[{key}]: {text}" for key, text in _ANNOTATIONS.items() if key in notes)
    if spec.get("volumes"):
        yield from _volume_warnings(behaviour, f"{at_spec}.volumes", spec["volumes"])
        if behaviour.applies("overlapping-volume-paths-warned"):
            yield from overlap_warnings(behaviour, spec["volumes"])
    yield from _repeated(at_spec, spec)
    yield from _fractions(f"{at_spec}.overhead", spec.get("overhead") or {})
    if SECCOMP_POD in notes and at(spec, "securityContext", "seccompProfile") is None:
        yield f"{at_notes}[{SECCOMP_POD}]: {_seccomp(behaviour)}"
    for place, container in every_container(at_spec, spec):
        yield from _profile_warnings(behaviour, at_notes, notes, spec, container, template=bool(path))
        yield from _container_warnings(behaviour, place, container)
    yield from _port_warnings(behaviour, at_spec, spec)
    if behaviour.applies("repeated-port-names-warned"):
        yield from _port_name_warnings(at_spec, spec)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0 and behaviour.applies("negative-grace-warned"):
        text = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{at_spec}.terminationGracePeriodSeconds: {text}"
    yield from _affinity_warnings(behaviour, f"{at_spec}.affinity", spec.get("affinity") or {})
    yield from _address_warnings(behaviour, at_spec, spec)


def _address_warnings(behaviour: ServedBehaviour, path: str, spec: Object) -> Iterator[str]:
    if not behaviour.applies("addresses-warned-about"):
        return
    for index, server in enumerate(at(spec, "dnsConfig", "nameservers") or ()):
        yield from ip_warnings(behaviour, f"{path}.dnsConfig.nameservers[{index}]", server)
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        yield from ip_warnings(behaviour, f"{path}.hostAliases[{index}].ip", alias.get("ip") or "")


def _port_name_warnings(path: str, spec: Object) -> Iterator[str]:
    first: dict[str, str] = {}
    for place, container in every_container(path, spec):
        for index, port in enumerate(container.get("ports") or ()):
            name, here = port.get("name") or "", f"{place}.ports[{index}]"
            if name and first.setdefault(name, here) != here:
                use = f"services and probes that select ports by name will use {first[name]}"
                yield f"{here}: duplicate port name {quoted(name)} with {first[name]}, {use}"


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _label_warnings(behaviour: ServedBehaviour, path: str, spec: Object) -> Iterator[str]:
    for key in spec.get("nodeSelector") or ():
        if deprecation(behaviour, key):
            yield f"{path}.nodeSelector[{key}]: {deprecation(behaviour, key)}"
    node = at(spec, "affinity", "nodeAffinity") or {}
    where = f"{path}.affinity.nodeAffinity"
    for index, term in enumerate((node.get(REQUIRED) or {}).get("nodeSelectorTerms") or ()):
        yield from expression_warnings(behaviour, f"{where}.{REQUIRED}.nodeSelectorTerms[{index}]", term)
    for index, term in enumerate(node.get(PREFERRED) or ()):
        place, preference = f"{where}.{PREFERRED}[{index}].preference", term.get("preference") or {}
        yield from expression_warnings(behaviour, place, preference, check_values=True)


def _spread_warnings(behaviour: ServedBehaviour, path: str, spec: Object) -> Iterator[str]:
    for index, one in enumerate(spec.get("topologySpreadConstraints") or ()):
        where, key = f"{path}.topologySpreadConstraints[{index}]", one.get("topologyKey") or ""
        if deprecation(behaviour, key):
            yield f"{where}.topologyKey: {key} is {deprecation(behaviour, key)}"
        if one.get("labelSelector") is None and behaviour.applies("null-selectors-of-pods-warned"):
            yield f"{where}.labelSelector: a null labelSelector results in matching no pod"


def _volume_warnings(behaviour: ServedBehaviour, path: str, volumes: Sequence[Object]) -> Iterator[str]:
    for index, volume in enumerate(volumes):
        for name, text in VOLUMES.items():
            if name in volume and _is_deprecated(behaviour, name):
                text = text if behaviour.applies("removed-volumes-told") else _UNTIL_1_26.get(name, text)
                disabled = name == "gitRepo" and behaviour.applies("git-repo-volumes-disabled")
                end = ", and disabled by default in v1.33+" if disabled else ""
                yield f"{path}[{index}].{_SHOWN_VOLUMES.get(name, name)}: {text}{end}"
        claim = at(volume, "ephemeral", "volumeClaimTemplate", "spec", "resources", "requests", "storage")
        if claim is not None and parse(claim).nano % NANO and behaviour.applies("claims-of-pods-warned"):
            where = f"{path}[{index}].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]"
            yield f"{where}: fractional byte value {quoted(canonical(claim))} is invalid, must be an integer"
    tokens = {path for path, _, _ in _projected(volumes, "serviceAccountToken")}
    for name, shown in (("configMap", "configMap"), ("secret", "secrets"), ("downwardAPI", "downwardAPI")):
        for file, index, number in _projected(volumes, name):
            if file in tokens:
                where = f"{path}[{index}].projected.sources.{shown}[{number}]"
                yield f"{where}: has duplicated path with ServiceAccountToken {quoted(file)}"


def _is_deprecated(behaviour: ServedBehaviour, name: str) -> bool:
    """True if the release warns of a type of volumes."""
    if name in ("cephfs", "rbd"):
        return behaviour.applies("cephfs-and-rbd-deprecated")
    return name != "glusterfs" or behaviour.applies("glusterfs-deprecated")


def _seccomp(behaviour: ServedBehaviour) -> str:
    """The warning about a seccomp profile in an annotation alone."""
    if behaviour.applies("seccomp-notes-without-effect"):
        return 'non-functional in v1.27+; use the "seccompProfile" field instead'
    end = "a future release" if behaviour.applies("seccomp-notes-last-longer") else "v1.25+"
    return f'deprecated since v1.19, non-functional in {end}; use the "seccompProfile" field instead'


def _projected(volumes: Sequence[Object], name: str) -> Iterator[tuple[str, int, int]]:
    """Files of projected volumes from one type of source: path, index of the volume, index of the item."""
    for index, volume in enumerate(volumes):
        for source in at(volume, "projected", "sources") or ():
            part = source.get(name)
            if part is not None and name == "serviceAccountToken":
                yield part.get("path") or "", index, 0
            elif part is not None:
                yield from (
                    (item.get("path") or "", index, number) for number, item in enumerate(part.get("items") or ())
                )


def _repeated(path: str, spec: Object) -> Iterator[str]:
    for name, key in (("hostAliases", "ip"), ("imagePullSecrets", "name")):
        seen: set[str] = set()
        for index, item in enumerate(spec.get(name) or ()):
            value = item.get(key) or ""
            if value in seen:
                yield f"{path}.{name}[{index}].{key}: duplicate {key} {quoted(value)}"
            seen.add(value)
    for index, item in enumerate(spec.get("imagePullSecrets") or ()):
        if not item.get("name"):
            yield f'{path}.imagePullSecrets[{index}].name: invalid empty name ""'


def _fractions(path: str, amounts: Object) -> Iterator[str]:
    for name in _BYTES:
        if name in amounts and parse(amounts[name]).nano % NANO:
            amount = quoted(canonical(amounts[name]))
            yield f"{path}[{name}]: fractional byte value {amount} is invalid, must be an integer"


def _profile_warnings(
    behaviour: ServedBehaviour, path: str, notes: Any, spec: Object, container: Object, *, template: bool
) -> Iterator[str]:
    if not notes:
        return
    name, context = container.get("name") or "", container.get("securityContext") or {}
    if SECCOMP_CONTAINER + name in notes and context.get("seccompProfile") is None:
        yield f"{path}[{SECCOMP_CONTAINER}{name}]: {_seccomp(behaviour)}"
    own, of_pod = context.get("appArmorProfile"), at(spec, "securityContext", "appArmorProfile")
    if of_pod is not None and behaviour.applies("app-armor-note-compared-with-pod") and APP_ARMOR + name in notes:
        of_pod = of_pod if of_pod == as_field(notes[APP_ARMOR + name]) else None
    if (
        template
        and APP_ARMOR + name in notes
        and own is None
        and of_pod is None
        and behaviour.applies("app-armor-fields")
    ):
        yield f'{path}[{APP_ARMOR}{name}]: deprecated since v1.30; use the "appArmorProfile" field instead'


def _container_warnings(behaviour: ServedBehaviour, path: str, container: Object) -> Iterator[str]:
    resources = container.get("resources") or {}
    if resources:
        for name in _BYTES:
            for side in ("limits", "requests"):
                amounts = resources.get(side) or {}
                yield from _fractions(f"{path}.resources.{side}", {name: amounts[name]} if name in amounts else {})
    seen: set[str] = set()
    for index, variable in enumerate(container.get("env") or ()):
        name, value = variable.get("name") or "", variable.get("value") or ""
        reference = f"$({name})"
        if name not in seen:
            seen.add(name)
        elif not behaviour.applies("hidden-variables-warned"):
            yield f"{path}.env[{index}].name: duplicate name {quoted(name)}"
        elif variable.get("valueFrom") is not None or value == reference or reference not in value:
            end = ", which may be dropped when using apply" if behaviour.applies("dropped-variables-told") else ""
            yield f"{path}.env[{index}]: hides previous definition of {quoted(name)}{end}"


def _port_warnings(behaviour: ServedBehaviour, path: str, spec: Object) -> Iterator[str]:
    if not behaviour.applies("ports-warned-of"):
        return
    known: dict[tuple[Any, Any], list[tuple[str, Object]]] = {}
    for place, container in every_container(path, spec):
        for index, port in enumerate(container.get("ports") or ()):
            where = f"{place}.ports[{index}]"
            if port.get("hostIP") and not port.get("hostPort"):
                yield f"{where}: hostIP set without hostPort: {_shown_port(port)}"
            same = known.setdefault((port.get("containerPort"), port.get("protocol")), [])
            for other_place, other in same:
                how = _conflict(port, other)
                if how:
                    yield f"{where}: {how} port definition with {other_place}"
            same.append((where, port))


def _shown_port(port: Object) -> str:
    names = (("Name", "name"), ("HostPort", "hostPort"), ("ContainerPort", "containerPort"))
    shown = [f"{name}:{port.get(key, '' if key == 'name' else 0)}" for name, key in names]
    return f"{{{' '.join(shown)} Protocol:{port.get('protocol', '')} HostIP:{port.get('hostIP', '')}}}"


def _conflict(port: Object, other: Object) -> str:
    host, other_host = port.get("hostPort") or 0, other.get("hostPort") or 0
    address, other_address = port.get("hostIP") or "", other.get("hostIP") or ""
    if (address, host) == (other_address, other_host):
        return "duplicate"
    if not host or not other_host:
        return "overlapping"
    return "dangerously ambiguous" if host == other_host and bool(address) != bool(other_address) else ""


def _affinity_warnings(behaviour: ServedBehaviour, path: str, affinity: Object) -> Iterator[str]:
    text = "a null labelSelector results in matching no pod"
    if not affinity or not behaviour.applies("null-selectors-of-pods-warned"):
        return
    for name in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(name) or {}
        for index, term in enumerate(terms.get(REQUIRED) or ()):
            if term.get("labelSelector") is None:
                yield f"{path}.{name}.{REQUIRED}[{index}].labelSelector: {text}"
        for index, term in enumerate(terms.get(PREFERRED) or ()):
            if at(term, "podAffinityTerm", "labelSelector") is None:
                yield f"{path}.{name}.{PREFERRED}[{index}].podAffinityTerm.labelSelector: {text}"
