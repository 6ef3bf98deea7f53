"""Small clusters for tests of the analyses, and random ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from simkit.seams.authorization import stated
from simkit.snapshot.memory import MemorySnapshot

API = "rbac.authorization.k8s.io/v1"


def rule(verbs: str, resources: str = "", *, groups: str = "", names: str = "", urls: str = "") -> dict[str, Any]:
    """A rule whose lists are written with commas; the group ``core`` is the empty one."""
    if urls:
        return {"verbs": verbs.split(","), "nonResourceURLs": urls.split(",")}
    made: dict[str, Any] = {
        "verbs": verbs.split(","),
        "apiGroups": ["" if group == "core" else group for group in (groups or "core").split(",")],
        "resources": resources.split(","),
    }
    return {**made, "resourceNames": names.split(",")} if names else made


def role(
    name: str, *rules: dict[str, Any], namespace: str = "", labels: dict[str, str] | None = None
) -> dict[str, Any]:
    """A Role in a namespace, or a ClusterRole."""
    metadata = {
        "name": name,
        **({"namespace": namespace} if namespace else {}),
        **({"labels": labels} if labels else {}),
    }
    kind = "Role" if namespace else "ClusterRole"
    return {"apiVersion": API, "kind": kind, "metadata": metadata, "rules": list(rules)}


def subject(text: str) -> dict[str, str]:
    """``user:x``, ``group:x`` or ``sa:ns/x`` as an entry of a binding."""
    kind, _, name = text.partition(":")
    if kind == "sa":
        namespace, _, name = name.partition("/")
        return {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    return {"kind": kind.capitalize(), "name": name, "apiGroup": "rbac.authorization.k8s.io"}


def binding(name: str, role_name: str, *subjects: str, namespace: str = "", local: bool = False) -> dict[str, Any]:
    """A RoleBinding in a namespace, or a ClusterRoleBinding; ``local`` names a Role."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role" if local else "ClusterRole", "name": role_name}
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    entries = [subject(text) for text in subjects]
    return {"apiVersion": API, "kind": kind, "metadata": metadata, "roleRef": reference, "subjects": entries}


def account(namespace: str, name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}}


def namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def world(*objects: Mapping[str, Any], captured: Iterable[str] = ("*",)) -> MemorySnapshot:
    """A snapshot of the objects, which are all there is. RBAC alone decides."""
    return MemorySnapshot(objects, captured=list(captured), authorization=stated(["RBAC"]))


VERBS = ("get", "list", "create", "impersonate", "*")
RESOURCES = ("pods", "pods/exec", "*/exec", "pods/*", "secrets", "namespaces", "nodes", "deployments", "users", "*")
GROUPS = ("", "apps", "*")
NAMES = ("", "", "one", "two")
PLACES = ("", "dev", "ops")
SUBJECTS = (
    *("user:ann", "user:bob", "user:system:serviceaccount:dev:app", "group:devs", "sa:dev/app", "sa:ops/app"),
    *("group:system:authenticated", "group:system:serviceaccounts", "group:system:serviceaccounts:dev"),
    *("group:system:unauthenticated", "group:system:masters"),
)


def _some(choices: Sequence[str], most: int = 2) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(choices), min_size=1, max_size=most, unique=True)


@st.composite
def rules(draw: st.DrawFn) -> dict[str, Any]:
    """A rule about few resources, sometimes for single names, sometimes about URLs."""
    verbs = draw(_some(VERBS))
    if draw(st.integers(0, 5)) == 0:
        return {"verbs": verbs, "nonResourceURLs": draw(_some(("/metrics", "/metrics*", "/healthz/*", "*")))}
    made: dict[str, Any] = {"verbs": verbs, "apiGroups": draw(_some(GROUPS)), "resources": draw(_some(RESOURCES))}
    name = draw(st.sampled_from(NAMES))
    return {**made, "resourceNames": [name]} if name else made


@st.composite
def clusters(draw: st.DrawFn) -> MemorySnapshot:
    """A cluster of few roles and bindings in two namespaces, with names that meet."""
    objects = [account("dev", "app"), account("ops", "app"), account("dev", "idle")]
    for number in range(draw(st.integers(1, 5))):
        place = draw(st.sampled_from(PLACES))
        objects.append(role(f"r{number}", *draw(st.lists(rules(), max_size=3)), namespace=place))
    for number in range(draw(st.integers(1, 6))):
        place = draw(st.sampled_from(PLACES))
        local = bool(place) and draw(st.booleans())
        named = f"r{draw(st.integers(0, 5))}"
        objects.append(binding(f"b{number}", named, *draw(_some(SUBJECTS, 3)), namespace=place, local=local))
    return MemorySnapshot(objects, captured=["*"], authorization=stated(["RBAC"]))
