"""What a plan says of objects is what applying them does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import simkit
from simkit import Cluster, SimkitError
from simkit.analysis.manifest_plan.planning import plan
from simkit.meta.domain import LAST_APPLIED
from simkit.meta.identity import Identity
from simkit.meta.message import Request
from tests.analysis.worlds import binding

_TEMPLATE = """
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: {namespace}, labels: {{team: a}}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {app}}}}}
  template:
    metadata: {{labels: {{app: {app}}}}}
    spec:
      containers:
      - name: web
        image: nginx:{tag}
        env: {env}
        {more}
"""


_MAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"


def deployment(**given: Any) -> str:
    """The manifest of the deployment ``web``."""
    usual = {"namespace": "shop", "replicas": 2, "app": "web", "tag": "1", "more": ""}
    return _TEMPLATE.format(**{**usual, "env": "[{name: A, value: '1'}, {name: B, value: '2'}]", **given})


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    """Two nodes, a namespace with a quota, one with a pod security level, and a deployment."""
    made = Cluster(seed=1)
    made.add_nodes(2)
    enforced = "{pod-security.kubernetes.io/enforce: restricted}"
    made.apply("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")
    made.apply(f"{{apiVersion: v1, kind: Namespace, metadata: {{name: strict, labels: {enforced}}}}}")
    quota = "{apiVersion: v1, kind: ResourceQuota, metadata: {name: few, namespace: shop}, spec: {hard: {pods: '3'}}}"
    made.apply([quota, deployment()])
    made.settle()
    return made


def told(found: simkit.analysis.ManifestPlan) -> list[tuple[str, str]]:
    """The action and the title of each object."""
    return [(one.action, one.title) for one in found.objects]


def test_a_field_of_a_wrong_type(cluster: Cluster) -> None:
    """It is one refusal among others, in the words of kube-apiserver, for a new object and for one that is there."""
    wrong = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: [b], annotations: [c]}, data: {x: '1'}}"
    fine = "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}"
    here, new = deployment(replicas="three"), deployment(replicas="three", namespace="default")
    found = plan(cluster, [here, new, wrong, fine])
    assert [action for action, _ in told(found)] == ["refused", "refused", "refused", "create"]
    assert all(row.detail.endswith("is text, not a number") for row in found.of("refused")[:2])
    assert "json: cannot unmarshal array into Go struct field" in found.of("refused")[2].detail


def test_nothing_changes(cluster: Cluster) -> None:
    """What is there already is an empty plan, and the cluster stays as it is."""
    before = cluster.snapshot()
    found = plan(cluster, deployment())
    assert not found
    assert found.headline == "Plan: nothing changes (1 object compared)"
    assert cluster.snapshot() is before


def test_fields_change_and_go(cluster: Cluster) -> None:
    """A field that the manifest no longer names is removed, and defaults are no changes."""
    found = plan(cluster, deployment(tag="2", env="[{name: A, value: '1'}]"))
    (change,) = found.objects
    start = "spec.template.spec.containers[name=web]"
    assert [str(field) for field in change.fields] == [
        f"{start}.env[name=B]: {{'name': 'B', 'value': '2'}} -> absent",
        f"{start}.image: 'nginx:1' -> 'nginx:2'",
    ]
    assert {(row.change, row.detail) for row in found.of("images and secrets")} == {
        ("added", "image nginx:2"),
        ("removed", "image nginx:1"),
    }


def test_an_immutable_field(cluster: Cluster) -> None:
    """A refused change that deleting and creating can make is a replacement, with the words of kube-apiserver."""
    found = plan(cluster, deployment(app="other"))
    assert told(found) == [("replace", "Deployment shop/web")]
    assert found.objects[0].message.endswith("field is immutable")


def test_the_effect_of_a_replacement() -> None:
    """A binding whose role changes is replaced, and what its subjects gain is in the plan."""
    made = Cluster(seed=1)
    made.apply([binding("team", "view", "user:ann", namespace="default")])
    found = plan(made, [binding("team", "edit", "user:ann", namespace="default")])
    assert told(found) == [("replace", "RoleBinding default/team")]
    assert any(row.change == "gained" and row.what == "user:ann in default" for row in found.of("access"))


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        (deployment(namespace="nowhere"), 'namespaces "nowhere" not found'),
        (
            deployment(more="imagePullpolicy: Always"),
            'unknown field "spec.template.spec.containers[0].imagePullpolicy"',
        ),
        ("{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}", 'no matches for kind "Thing"'),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: A_b}}", "a lowercase RFC 1123 subdomain"),
    ],
)
def test_refused(cluster: Cluster, manifest: str, words: str) -> None:
    """Each refusal has the words of kube-apiserver or kubectl."""
    found = plan(cluster, manifest)
    assert [one.action for one in found.refused] == ["refused"]
    assert words in found.refused[0].message
    assert "to create" not in found.headline


def test_lists_with_equal_keys(cluster: Cluster) -> None:
    """A list that server-side apply cannot track is merged as kubectl apply does, and is no failure."""
    found = plan(cluster, deployment(env="[{name: A, value: '1'}, {name: A, value: '3'}]"))
    assert told(found) == [("change", "Deployment shop/web")]


def test_as_another_user(cluster: Cluster) -> None:
    """The plan of a user who may not write says so."""
    found = plan(cluster, deployment(tag="2"), identity=Identity("bob"))
    assert 'User "bob" cannot get resource "deployments"' in found.refused[0].message


_DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: thingies.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: thingies, singular: thing, kind: Thing}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
"""Whose plural cannot be guessed from its kind."""


def test_a_definition_and_its_object() -> None:
    """Definitions come first, wherever they stand."""
    thing = "{apiVersion: example.com/v1, kind: Thing, metadata: {name: a, namespace: default}, spec: {size: 3}}"
    found = plan(Cluster(seed=1), [thing, _DEFINITION])
    assert told(found) == [("create", "Thing default/a"), ("create", "CustomResourceDefinition thingies.example.com")]


def test_against_earlier_manifests(cluster: Cluster) -> None:
    """What the earlier manifests had and the new ones do not is deleted."""
    gone = "{apiVersion: v1, kind: ConfigMap, metadata: {name: gone, namespace: shop}}"
    found = plan(cluster, deployment(tag="3"), configured=[deployment(), gone])
    assert told(found) == [("change", "Deployment shop/web"), ("delete", "ConfigMap shop/gone")]


def test_custom_objects_against_earlier_manifests() -> None:
    """Custom objects are compared by the resources that the cluster serves: no deletion is missed or made up."""
    made = Cluster(seed=1)
    made.apply(_DEFINITION)
    gone, kept = (f"{{apiVersion: example.com/v1, kind: Thing, metadata: {{name: {name}}}}}" for name in "ab")
    made.apply([gone, kept])
    found = plan(made, kept, configured=[gone, kept])
    assert told(found) == [("unchanged", "Thing default/b"), ("delete", "Thing default/a")]


def test_pruning() -> None:
    """Objects with the labels that kubectl apply made are deleted; others are not, and an ApplySet has its own."""
    made = Cluster(seed=1)
    labels = {"app": "shop"}
    for name, notes in (("old", {LAST_APPLIED: "{}"}), ("by-hand", {}), ("kept", {LAST_APPLIED: "{}"})):
        meta = {"name": name, "namespace": "default", "labels": labels, "annotations": notes}
        made.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
    kept = "{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, namespace: default, labels: {app: shop}}}"
    deleted = [one.title for one in plan(made, kept, prune="app=shop").objects if one.action == "delete"]
    assert deleted == ["ConfigMap default/old"]
    with pytest.raises(SimkitError, match="there is no such ApplySet"):
        plan(made, kept, prune="applyset:shop")
    meta = {"name": "shop", "namespace": "default", "labels": {"applyset.kubernetes.io/id": "applyset-1"}}
    made.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta})
    part = {"name": "part", "namespace": "default", "labels": {"applyset.kubernetes.io/part-of": "applyset-1"}}
    made.create({"apiVersion": "v1", "kind": "Service", "metadata": part, "spec": {"ports": [{"port": 80}]}})
    found = plan(made, kept, prune="applyset:default/shop").objects
    assert [one.title for one in found if one.action == "delete"] == ["Service default/part"]


def test_secrets_stay_hidden() -> None:
    """Values of Secrets are in no form of the plan."""
    made = Cluster(seed=1)
    before = "{apiVersion: v1, kind: Secret, metadata: {name: db}, stringData: {password: first-value, user: ann}}"
    made.apply(before)
    found = plan(made, before.replace("first-value", "other-value"))
    assert [str(field) for field in found.objects[0].fields] == ["data.password: '(hidden)' -> '(hidden)'"]
    forms = f"{found!r}{found._repr_html_()}{found.to_dict()}{found.objects}"
    for value in ("first-value", "other-value", "Zmlyc3QtdmFsdWU=", "b3RoZXItdmFsdWU="):
        assert value not in forms


def test_what_the_demo_cluster_has() -> None:
    """Applying the objects of a dump again changes nothing, though some lack the defaults of kube-apiserver."""
    made = simkit.demo(seed=1)
    assert made.dump is not None
    chosen = [
        obj
        for obj in made.dump.objects
        if not obj["metadata"].get("ownerReferences")
        and obj["kind"] not in ("Event", "Secret", "EndpointSlice")
        and obj["metadata"]["name"] != "kube-root-ca.crt"  # the certificate of this cluster is another one
    ]
    found = plan(made, chosen)
    assert not found, repr(found)[:2000]
    assert len(found.objects) > 600


_VALUES = st.dictionaries(st.sampled_from("abcd"), st.sampled_from("123"), max_size=3)


@given(before=_VALUES, after=_VALUES, by_others=_VALUES)
def test_config_maps_end_as_the_model_says(
    cluster: Cluster, before: dict[str, str], after: dict[str, str], by_others: dict[str, str]
) -> None:
    """Keys that were configured and are no longer go, those of others stay, and the plan lists just the difference."""
    made = cluster.fork()

    def config(data: dict[str, str]) -> dict[str, Any]:
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "a", "namespace": "default"},
            "data": data,
        }

    made.apply([config(before)])
    path = "/api/v1/namespaces/default/configmaps/a?fieldManager=somebody"
    merge = "application/merge-patch+json"
    others = {key: value for key, value in by_others.items() if key not in before}
    made.perform(Request.of("PATCH", path, {"data": others}, content_type=merge))
    live = {**before, **others}
    expected = {key: value for key, value in live.items() if key in after or key not in before} | after
    found = plan(made, [config(after)])
    changed = {field.path.removeprefix("data.") for one in found.objects for field in one.fields}
    differing = {key for key in live.keys() | expected.keys() if live.get(key) != expected.get(key)}
    assert changed - {"data"} == differing or (changed == {"data"} and (not live or not expected))


def test_earlier_manifests_are_there_whoever_applies(cluster: Cluster) -> None:
    """Earlier manifests are what the cluster has, whatever the user may do; of them, what is not there is not deleted."""
    config = "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {}, namespace: shop}}, data: {{x: '{}'}}}}"
    refused = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a_b, namespace: shop}}"
    earlier = "\n---\n".join([config.format("a", 1), refused])
    made = plan(cluster, config.format("a", 1), configured=earlier, identity=Identity("nobody"))
    assert [title for _, title in told(made)] == ["ConfigMap shop/a"]
    assert told(plan(cluster, config.format("a", 1), configured=earlier)) == [("unchanged", "ConfigMap shop/a")]


def test_a_kustomization_is_rendered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In Python as by the command. Files of a kustomization that are given by themselves are told: they may be changed."""
    folder, programs = tmp_path / "app", tmp_path / "bin"
    folder.mkdir()
    programs.mkdir()
    (folder / "kustomization.yaml").write_text("namespace: shop\nresources: [a.yaml]\n", encoding="utf-8")
    (folder / "a.yaml").write_text(_MAP, encoding="utf-8")
    program = programs / "kustomize"
    program.write_text(f"#!/bin/sh\necho '{_MAP.replace('name: a', 'name: a, namespace: kube-system')}'\n", "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/bin")
    cluster = simkit.Cluster(seed=1)
    found = cluster.plan(folder)
    assert (told(found), found.notes) == ([("create", "ConfigMap kube-system/a")], ())
    [note] = cluster.plan([folder / "kustomization.yaml", folder / "a.yaml"]).notes
    assert "was not rendered" in note
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SimkitError, match="neither kustomize nor kubectl is installed"):
        cluster.plan(folder)


@pytest.mark.parametrize(
    "text",
    [
        "resources: ['http:\\x2f\\x2fexample.test/a.yaml']".replace("'", '"'),
        "resources: [github.com/acme/base]",
        "resources: [../../elsewhere]",
        "components: ['../base?ref=main']",
        "patches: [{path: 'https://example.test/p.yaml'}]",
        "configMapGenerator: [{name: a, files: ['k=https://example.test/p']}]",
        "generators: [plugin.yaml]",
        "transformers: ['kind: A\\nurl: http://example.test']".replace("'", '"'),
        "helmCharts: [{name: a, repo: x}]",
        "a: &a {resources: ['https://example.test']}\n<<: *a",
        'resources: ["a\\0b"]',
        "resources: 5\nbases: [absent]",
    ],
)
def test_a_kustomization_fetches_nothing(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it names that is not there is refused before kustomize runs, also in the folders that it uses."""
    app, elsewhere = tmp_path / "x" / "app", tmp_path / "elsewhere"
    for folder in (app, elsewhere, tmp_path / "bin", tmp_path / "x" / "base"):
        folder.mkdir(parents=True)
    (tmp_path / "bin" / "kustomize").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n", encoding="utf-8")
    (tmp_path / "bin" / "kustomize").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin")
    (app / "kustomization.yaml").write_text(text, encoding="utf-8")
    (app / "plugin.yaml").write_text("kind: A\nfiles: [http://example.test/a]\n", encoding="utf-8")
    (elsewhere / "kustomization.yaml").write_text("resources: ['http://example.test/a']", encoding="utf-8")
    with pytest.raises(SimkitError, match=r"nothing is fetched|cannot be read"):
        simkit.Cluster(seed=1).plan(app)
    assert not (tmp_path / "ran").exists()


def test_harmless_addresses_of_a_kustomization(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A comment, a literal, a label or another folder may name an address."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kustomize").write_text(f"#!/bin/sh\necho '{_MAP}'\n", encoding="utf-8")
    (tmp_path / "bin" / "kustomize").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin")
    for name, text in (
        ("app", "# $schema=https://example.test\nconfigMapGenerator: [{name: a, literals: ['u=http://example.test']}]"),
        ("other", "resources: ['https://example.test']"),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kustomization.yaml").write_text(text, encoding="utf-8")
    assert told(simkit.Cluster(seed=1).plan(tmp_path / "app")) == [("create", "ConfigMap default/a")]


def test_paths_that_are_none(tmp_path: Path) -> None:
    """A path that no file system has is told as one at which nothing is."""
    for path in ("a\0b", "x" * 5000):
        with pytest.raises(SimkitError, match=r"no path|nothing to load"):
            simkit.Cluster(seed=1).plan(Path(path))
