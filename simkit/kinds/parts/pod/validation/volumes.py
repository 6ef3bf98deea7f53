"""Validation of the volumes of a pod: names, exactly one source each, and the source.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from simkit.kinds.parts.go_printing.structures import texts
from simkit.kinds.parts.pod.validation.environment import FILE_FIELDS, RESOURCE_IN_VOLUME, field_reference
from simkit.kinds.parts.validation.fields import ABSOLUTE, DESCENDING, FILE, MODE, NO_BACKSTEPS
from simkit.kinds.parts.volume.claim_spec import CLAIM_TEMPLATE
from simkit.kinds.rules import REQUIRED, Check, Row, by, fields, must, placed, row, table
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import API_DOMAIN, LABEL_DOMAIN
from simkit.meta.fielderror import (
    Errors,
    FieldError,
    duplicate,
    forbidden_field,
    invalid_value,
    quoted,
    required,
    too_long,
    unsupported,
)
from simkit.meta.name_validation import dns_label, dns_subdomain
from simkit.meta.objects import Object, name_of
from simkit.meta.quantity import parse

_DEFAULT_MODE: Final = row("defaultMode", MODE)
_FILE_OF_KEY: Final = table(row("key", REQUIRED), row("path", REQUIRED, FILE), row("mode", MODE))


_FILE_OF_FIELD: Final = table(
    row("path", REQUIRED, FILE),
    row("fieldRef", field_reference(FILE_FIELDS)),
    row(
        "",
        must.be_otherwise("fieldRef and resourceFieldRef can not be specified simultaneously", lambda _: "resource"),
        when=fields.present("fieldRef", "resourceFieldRef"),
    ),
    row("resourceFieldRef", RESOURCE_IN_VOLUME, unless=fields.present("fieldRef")),
    row(
        "",
        must.be_set("one of fieldRef and resourceFieldRef is required"),
        when=fields.absent("fieldRef", "resourceFieldRef"),
    ),
    row("mode", MODE),
)


def _validate_files_of_fields(behaviour: ServedBehaviour, path: str, source: Object) -> Errors:
    """The errors of the files of a downward API volume, which are told without the place of the file."""
    for item in source.get("items") or ():
        yield from placed(path, _FILE_OF_FIELD(behaviour, item))


# Projected volumes: no two files may have the same path


def _validate_projected(behaviour: ServedBehaviour, path: str, source: Object) -> Errors:
    taken: set[str] = set()
    for index, part in enumerate(source.get("sources") or ()):
        at, several = f"{path}.sources[{index}]", [name for name in _PARTS if part.get(name) is not None]
        for name in several:
            yield from _PARTS[name](behaviour, path, f"{at}.{name}", part[name], taken)
        if len(several) > 1:
            of_one = " per source" if behaviour.applies("projected-source-error-names-source") else ""
            yield forbidden_field(at, f"may not specify more than 1 volume type{of_one}")


def _keyed_part(behaviour: ServedBehaviour, path: str, at: str, part: Object, taken: set[str]) -> Errors:
    name = part.get("name") or ""
    if not name:
        yield required(f"{at}.name")
    for index, item in enumerate(part.get("items") or ()):
        yield from placed(f"{at}.items[{index}]", _FILE_OF_KEY(behaviour, item))
        yield from _validate_taken(path, name, item.get("path") or "", taken)


def _validate_taken(path: str, shown: str, file: str, taken: set[str]) -> Errors:
    if file in taken:
        yield invalid_value(path, shown, "conflicting duplicate paths")
    elif file:
        taken.add(file)


def _downward_part(behaviour: ServedBehaviour, path: str, at: str, part: Object, taken: set[str]) -> Errors:
    for item in part.get("items") or ():
        yield from placed(at, _FILE_OF_FIELD(behaviour, item))
        file = item.get("path") or ""
        yield from _validate_taken(path, file, file, taken)


TOKEN_SECONDS: Final = table(
    must.hold(lambda seconds: seconds >= 600, "may not specify a duration less than 10 minutes"),
    must.hold(lambda seconds: seconds <= 1 << 32, "may not specify a duration larger than 2^32 seconds"),
)
_TOKEN_SECONDS: Final = row("expirationSeconds", TOKEN_SECONDS, zero=0)
_TOKEN_PATH: Final = table(row("path", REQUIRED), row("path", FILE, since="local-token-paths"))


def _token_part(behaviour: ServedBehaviour, path: str, at: str, part: Object, taken: set[str]) -> Errors:
    yield from placed(at, _TOKEN_SECONDS(behaviour, part))
    yield from placed(path, _TOKEN_PATH(behaviour, part))


_PARTS: Final = {
    "secret": _keyed_part,
    "configMap": _keyed_part,
    "downwardAPI": _downward_part,
    "serviceAccountToken": _token_part,
}


# Sources

PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_LONGEST_DRIVER: Final = 63
_QUALIFIED_NAMES: Final = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.[A-Za-z0-9.-]+(:[^,;*&$|\s]+)\Z"),
    "eui": re.compile(r"\Aeui.[A-Za-z0-9]{16}\Z"),
    "naa": re.compile(r"\Anaa.[A-Za-z0-9]{32}\Z"),
}
CHECKED_AT: Final = {"gcePersistentDisk": "persistentDisk"}
"""Volume types with another field name in kube-apiserver's errors."""
REFUSED_AT: Final = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
"""Volume types with another field name in the error of a second source."""


def needs(*names: str) -> Check:
    """The check that fields are not empty."""
    return table(*(row(name, REQUIRED) for name in names))


HOST_PATH: Final = table(
    row("path", REQUIRED, NO_BACKSTEPS),
    row(
        "type",
        must.be_one_of(
            "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"
        ),
        when=fields.given("path"),
    ),
)
_PARTITION: Final = row("partition", must.be_between(0, 255, "must be between 1 and 255, inclusive"))
NAMED_SECRET: Final = row("secretRef", row("name", REQUIRED))


def iscsi(unknown: str, *secret: Row) -> Check:
    """The check of an iSCSI volume; ``unknown`` is said of a name of no known form."""

    def check(behaviour: ServedBehaviour, path: str, name: str) -> Errors:
        pattern = _QUALIFIED_NAMES.get(name[:3])
        if pattern is None:
            yield invalid_value(path, name, unknown)
        elif not pattern.search(name):
            yield invalid_value(path, name, "must be valid format")

    return table(
        row("targetPortal", REQUIRED),
        row("iqn", REQUIRED, by(check)),
        row("lun", must.be_between(0, 255)),
        row("secretRef", must.be_given(pointer=True), when=fields.either("chapAuthDiscovery", "chapAuthSession")),
        *secret,
        row("initiatorName", by(check), told="initiatorname", empty=True),
    )


_PAIRS: Final = "must be a host:port pair or multiple pairs separated by commas"


def _validate_pairs(behaviour: ServedBehaviour, path: str, registry: str) -> Errors:
    return (invalid_value(path, registry, _PAIRS) for pair in registry.split(",") if pair.count(":") != 1)


def _has_long_tenant(source: Object) -> bool:
    return len(source.get("tenant") or "") >= 65


def _validate_options(behaviour: ServedBehaviour, path: str, options: Mapping[str, str]) -> Errors:
    for key in sorted(options):
        owner = "." + key.partition("/")[0].lower()
        if owner.endswith((f".{LABEL_DOMAIN}", f".{API_DOMAIN}")):
            detail = f"{LABEL_DOMAIN} and {API_DOMAIN} namespaces are reserved"
            yield invalid_value(f"{path}[{key}]", key, detail)


def _starts(prefix: str, pattern: str) -> Check:
    """The check of an address with a prefix, whose error lists the only pattern."""

    def check(behaviour: ServedBehaviour, path: str, uri: str) -> Errors:
        if not uri.startswith(prefix):
            yield unsupported(path, uri, (pattern,))

    return by(check)


_MANAGED_DISK: Final = _starts(
    "/subscriptions/",
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
)
_BLOB: Final = _starts("https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd")


def _validate_driver(behaviour: ServedBehaviour, path: str, name: str) -> Errors:
    """The errors of the name of a storage driver."""
    if not name:
        yield required(path)
        if behaviour.applies("empty-driver-names-told-once"):
            return
    if len(name) > _LONGEST_DRIVER:
        yield too_long(path, _LONGEST_DRIVER)
    yield from (invalid_value(path, name, detail) for detail in dns_subdomain(name.lower()))


DRIVER: Final = by(_validate_driver)
_LABEL: Final = must.be(dns_label)

SOURCES: Final[Mapping[str, Check]] = {
    "emptyDir": row(
        "sizeLimit",
        must.be_absent("SizeLimit field must be a valid resource quantity"),
        when=lambda source: parse(str(source["sizeLimit"])).nano < 0,
    ),
    "hostPath": HOST_PATH,
    "gitRepo": table(row("repository", REQUIRED), row("directory", DESCENDING)),
    "gcePersistentDisk": table(row("pdName", REQUIRED), _PARTITION),
    "awsElasticBlockStore": table(row("volumeID", REQUIRED), _PARTITION),
    "secret": table(row("secretName", REQUIRED), _DEFAULT_MODE, row("items[]", _FILE_OF_KEY)),
    "nfs": table(row("server", REQUIRED), row("path", REQUIRED), row("path", ABSOLUTE, zero="")),
    "iscsi": iscsi("must be valid format starting with iqn, eui, or naa"),
    "glusterfs": needs("endpoints", "path"),
    "flocker": table(
        row(
            "",
            must.be_set("one of datasetName and datasetUUID is required"),
            unless=fields.either("datasetName", "datasetUUID"),
        ),
        row(
            "",
            must.be_otherwise("datasetName and datasetUUID can not be specified simultaneously", lambda _: "resource"),
            when=fields.given("datasetName", "datasetUUID"),
        ),
        row("datasetName", must.hold(lambda name: "/" not in name, "must not contain '/'")),
    ),
    "persistentVolumeClaim": needs("claimName"),
    "rbd": needs("monitors", "image"),
    "cinder": table(row("volumeID", REQUIRED), NAMED_SECRET),
    "cephfs": needs("monitors"),
    "quobyte": table(
        row("registry", must.be_given(_PAIRS)),
        row(
            "tenant",
            must.be_set("must be a UUID and may not exceed a length of 64 characters"),
            when=lambda source: source.get("registry") and _has_long_tenant(source),
        ),
        row("registry", by(_validate_pairs), unless=_has_long_tenant),
        row("volume", REQUIRED),
    ),
    "downwardAPI": table(_DEFAULT_MODE, by(_validate_files_of_fields)),
    "fc": table(
        row(
            "targetWWNs",
            must.be_given("must specify either targetWWNs or wwids, but not both"),
            unless=fields.given("wwids"),
        ),
        row(
            "targetWWNs",
            must.be_otherwise("targetWWNs and wwids can not be specified simultaneously", texts),
            when=fields.given("targetWWNs", "wwids"),
        ),
        row(
            "lun",
            must.be_given("lun is required if targetWWNs is specified", pointer=True),
            must.be_between(0, 255),
            when=fields.given("targetWWNs"),
        ),
    ),
    "flexVolume": table(row("driver", REQUIRED), row("options", by(_validate_options))),
    "configMap": table(row("name", REQUIRED), _DEFAULT_MODE, row("items[]", _FILE_OF_KEY)),
    "azureFile": needs("secretName", "shareName"),
    "vsphereVolume": needs("volumePath"),
    "photonPersistentDisk": needs("pdID"),
    "portworxVolume": needs("volumeID"),
    "azureDisk": table(
        row("diskName", REQUIRED),
        row("diskURI", REQUIRED),
        row("cachingMode", must.be_one_of("None", "ReadOnly", "ReadWrite"), empty=True),
        row("kind", must.be_one_of("Dedicated", "Managed", "Shared"), empty=True),
        row("diskURI", _MANAGED_DISK, when=fields.equal("kind", "Managed"), zero=""),
        row("diskURI", _BLOB, unless=fields.equal("kind", None, "Managed"), zero=""),
    ),
    "storageos": table(
        row("volumeName", REQUIRED, must.be(dns_label)),
        row("volumeNamespace", must.be(dns_label)),
        NAMED_SECRET,
    ),
    "projected": table(_DEFAULT_MODE, by(_validate_projected)),
    "scaleIO": needs("gateway", "system", "volumeName"),
    "csi": table(
        row("driver", DRIVER, zero=""),
        row("nodePublishSecretRef", row("name", REQUIRED)),
        row("nodePublishSecretRef.name", must.be(dns_subdomain), told="name"),
    ),
    "ephemeral": table(),
    "image": row("pullPolicy", REQUIRED, must.be_one_of(*PULL_POLICIES)),
}
"""Every volume type with its check; that of ``ephemeral`` depends on more than the source."""


_LONGEST_PORTAL: Final = 64
_PORTAL_RULE: Final = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
    "if iscsi.initiatorName is specified."
)


def validate_volumes(
    behaviour: ServedBehaviour, path: str, spec: Object, pod: Object | None
) -> tuple[list[FieldError], Mapping[str, Object]]:
    """The errors of the volumes, and the valid volumes by name: only those can be mounted.

    ``pod`` is the object that the spec is of; None for a template.
    """
    errors: list[FieldError] = []
    well: dict[str, Object] = {}
    volumes = spec.get("volumes") or ()
    claims = _created_claims(spec, pod)
    for index, volume in enumerate(volumes):
        at = f"{path}[{index}]"
        volume_errors = [
            *_validate_source(behaviour, at, volume, pod),
            *_validate_name(behaviour, f"{at}.name", volume.get("name") or "", well),
        ]
        if not volume_errors:
            well[volume["name"]] = volume
        errors += volume_errors
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim in claims:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(invalid_value(f"{at}.persistentVolumeClaim.claimName", claim, detail))
    return errors, well


def _created_claims(spec: Object, pod: Object | None) -> set[str]:
    if pod is None or not name_of(pod):
        return set()
    return {f"{name_of(pod)}-{one.get('name')}" for one in spec.get("volumes") or () if "ephemeral" in one}


def _validate_name(behaviour: ServedBehaviour, path: str, name: str, well: Mapping[str, Object]) -> Errors:
    if not name:
        yield required(path)
    else:
        yield from placed(path, _LABEL(behaviour, name))
    if name in well:
        yield duplicate(path, name)


def _validate_source(behaviour: ServedBehaviour, path: str, volume: Object, pod: Object | None) -> Errors:
    count = 0
    for name in [name for name in SOURCES if name in volume]:
        source = volume[name]
        if source is None:
            continue
        if count:
            yield forbidden_field(f"{path}.{REFUSED_AT.get(name, name)}", "may not specify more than 1 volume type")
            continue
        count += 1
        if name == "image" and pod is not None and not source.get("reference"):
            yield required(f"{path}.image.reference")
        yield from placed(f"{path}.{CHECKED_AT.get(name, name)}", SOURCES[name](behaviour, source))
        if name == "iscsi":
            yield from _validate_portal(f"{path}.name", volume.get("name") or "", source)
        elif name == "ephemeral":
            yield from _validate_ephemeral(behaviour, path, volume, source, pod)
    if not count:
        yield required(path, "must specify a volume type")


def _validate_portal(path: str, name: str, source: Object) -> Errors:
    portal = f"{name}:{source.get('targetPortal') or ''}"
    if source.get("initiatorName") is not None and len(portal) > _LONGEST_PORTAL:
        yield invalid_value(path, name, _PORTAL_RULE)


def _validate_ephemeral(
    behaviour: ServedBehaviour, path: str, volume: Object, source: Object, pod: Object | None
) -> Errors:
    template = source.get("volumeClaimTemplate")
    if template is None:
        yield required(f"{path}.ephemeral.volumeClaimTemplate")
    else:
        yield from placed(f"{path}.ephemeral.volumeClaimTemplate", CLAIM_TEMPLATE(behaviour, template))
    name = volume.get("name") or ""
    if pod is not None and name_of(pod) and name:
        claim = f"{name_of(pod)}-{name}"
        for detail in dns_subdomain(claim):
            yield invalid_value(f"{path}.name", name, f"PVC name {quoted(claim)}: {detail}")
