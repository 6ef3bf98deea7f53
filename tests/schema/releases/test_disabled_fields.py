"""Fields by feature gate, checked against the schemas of all releases."""

from __future__ import annotations

from simkit.schema.catalogue import Catalogue
from simkit.schema.definitions import definitions
from simkit.schema.disabled_fields import FieldGates, gated_fields
from simkit.schema.feature_gates import history_of, parse_feature_gates
from simkit.schema.releases import RELEASES, minor_of

LATER = {
    "CSIDriverSpec.preventPodSchedulingIfMissing": "1.36",
    "PodSpec.schedulingGroup": "1.36",
    "VolumeMountStatus.volumeStatus": "1.36",
    "DeviceRequest.adminAccess": "1.31",
    "ExactDeviceRequest.adminAccess": "1.33",
    "NodeStatus.runtimeHandlers": "1.30",
    "PersistentVolumeClaimSpec.dataSourceRef": "1.22",
    "PersistentVolumeClaimStatus.allocatedResourceStatuses": "1.28",
    "PodStatus.resourceClaimStatuses": "1.28",
    "ServiceSpec.ipFamilies": "1.20",
    "ServiceSpec.ipFamilyPolicy": "1.20",
}
"""Fields that came to a feature which had its gate already, and one that got a gate later."""


def first_releases() -> dict[str, str]:
    """By type and field: the first release whose schemas have it."""
    found: dict[str, str] = {}
    for release in RELEASES:
        for name, row in definitions(release).rows.items():
            for field in row.get("fields", ()):
                found.setdefault(f"{name.rpartition('.')[2]}.{field}", release)
    return found


def test_a_field_came_with_its_gate() -> None:
    """Two tables of different origin agree: what the schemas have since when, and when the gates came."""
    seen = first_releases()
    for name, row in gated_fields().items():
        came = min(minor_of(history_of(gate)[0].release) for gate in row["gates"])
        assert minor_of(seen[name]) == max(16, minor_of(LATER.get(name, f"1.{came}"))), name


def test_kinds_without_such_fields_cost_nothing() -> None:
    """There is no tree to walk, and an object without such fields is given back itself."""
    catalogue, gates = Catalogue.for_release("1.30"), FieldGates("1.30", parse_feature_gates({}).values)
    for word in ("configmaps", "namespaces", "roles", "rolebindings", "endpoints"):
        assert gates.of(catalogue.schema(catalogue.lookup(word).gvk)).tree is None, word
    plain = {"spec": {"containers": [{"name": "a"}], "volumes": []}}
    assert gates.of(catalogue.schema(catalogue.lookup("pods").gvk)).without(plain) is plain


def test_every_release_can_be_asked() -> None:
    """And an older one withholds more of a pod than a newer one."""
    catalogue = Catalogue.for_release("1.30")
    whole = catalogue.schema(catalogue.lookup("pods").gvk)
    spec = dict.fromkeys(whole.fields["spec"].fields)
    left = []
    for release in RELEASES[: RELEASES.index("1.30") + 1]:
        gates = FieldGates(release, parse_feature_gates({}, release).values)
        left.append(len(gates.of(whole).without({"spec": spec})["spec"]))
    assert left == sorted(left)
    assert left[0] < left[-1]
