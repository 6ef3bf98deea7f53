"""Loading: shapes, sources, what is put right, secrets."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from simkit.meta.domain import LAST_APPLIED
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource, Key
from simkit.schema.releases import RELEASES
from simkit.snapshot.load import load
from simkit.snapshot.save import save
from tests.shared import SHARED, needs_shared
from tests.snapshot.dumps import PODS, RBAC, ROLES, TWO, names, pod, told

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "text",
    [
        orjson.dumps(TWO).decode(),
        orjson.dumps(TWO, option=orjson.OPT_INDENT_2).decode(),
        orjson.dumps(TWO["items"]).decode(),
        "\n".join(orjson.dumps(item).decode() for item in TWO["items"]),
        "\n".join(orjson.dumps(item, option=orjson.OPT_INDENT_2).decode() for item in TWO["items"]),
        yaml.safe_dump(TWO),
        yaml.safe_dump(TWO).replace("\n", "\r\n"),
        yaml.safe_dump(TWO, sort_keys=False),
        yaml.safe_dump(TWO["items"]),
        yaml.safe_dump_all(TWO["items"]),
        "# a comment\n---\n" + "---\n".join(yaml.safe_dump(item) for item in TWO["items"]) + "---\n---\n# end\n...\n",
        "%YAML 1.1\n---\n" + yaml.safe_dump(TWO),
        yaml.safe_dump(TWO, default_flow_style=True),
        yaml.safe_dump(
            {"items": [{"metadata": item["metadata"]} for item in TWO["items"]], "kind": "PodList", "apiVersion": "v1"}
        ),
        "\ufeff" + orjson.dumps(TWO).decode(),
    ],
)
def test_every_shape_gives_the_same_objects(text: str, tmp_path: Path) -> None:
    """JSON, JSON lines, YAML documents and lists say the same, as text, as a file and as an open file."""
    plain = tmp_path / "anything.txt"
    plain.write_text(text, encoding="utf-8", newline="")
    packed = tmp_path / "anything"
    packed.write_bytes(gzip.compress(text.encode()))
    for source in (plain, str(packed), text.encode(), io.StringIO(text), io.BytesIO(text.encode())):
        dump = load(source)
        assert [dict(obj) for obj in dump] == [pod("a"), pod("b")], source
        assert not dump.problems
        assert dump.captured == {PODS}


def test_text_and_decoded_values_are_sources() -> None:
    """A mapping, a list of mappings, and YAML text need no file."""
    assert names(load(TWO)) == names(load(TWO["items"])) == names(load(yaml.safe_dump(TWO))) == ["a", "b"]
    assert names(load([pod("a"), yaml.safe_dump(pod("b"))])) == ["a", "b"]


def test_text_in_utf_16_is_read(tmp_path: Path) -> None:
    """Some shells redirect output as UTF-16 with a byte order mark."""
    file = tmp_path / "dump.json"
    file.write_bytes(orjson.dumps(TWO).decode().encode("utf-16"))
    assert names(load(file)) == ["a", "b"]


def test_folders_archives_and_patterns(tmp_path: Path) -> None:
    """Folders are read with their subfolders, archives as they are packed; other files are left out and counted."""
    folder = tmp_path / "dump"
    (folder / "shop").mkdir(parents=True)
    (folder / "shop" / "pods.yaml").write_text(yaml.safe_dump(pod("a")))
    (folder / "shop" / "more.json.gz").write_bytes(gzip.compress(orjson.dumps(pod("b"))))
    (folder / "README.md").write_text("# words")
    (folder / ".hidden.yaml").write_text("{")
    archive = tmp_path / "dump.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, "dump")
    from_folder, from_archive = load(folder), load(archive)
    assert from_folder.keyed == from_archive.keyed == load(folder / "shop" / "*").keyed
    assert names(from_folder) == ["b", "a"]
    assert "1 file left out" in told(from_folder)
    assert "1 file left out" in told(from_archive)
    assert not from_folder.lost


def test_a_missing_path_is_an_error(tmp_path: Path) -> None:
    """The error says what is there instead."""
    (tmp_path / "dump.yaml").write_text("{}")
    with pytest.raises(SimkitError, match=r"nothing to load at .*dmp\.yaml; in .* there is dump\.yaml"):
        load(tmp_path / "dmp.yaml")
    with pytest.raises(SimkitError, match="there is no folder"):
        load(tmp_path / "nowhere" / "dump.yaml")
    with pytest.raises(SimkitError, match="cannot load from int"):
        load(3)  # type: ignore[arg-type]


def test_both_views_of_events_are_one() -> None:
    """Events of both groups in a dump are the same objects, and capturing one captures the other."""
    core = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "shop"}, "message": "hi"}
    other = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "shop"},
        "note": "hi",
    }
    for first, second in ((core, other), (other, core)):
        dump = load([first, second])
        assert len(dump) == 1
        assert not [problem for problem in dump.problems if problem.weight != "note"]
        snapshot = dump.snapshot()
        assert snapshot.scan(GroupResource("", "events")) == (core,)
        assert snapshot.scan(GroupResource("events.k8s.io", "events")) == (other,)


def test_later_duplicates_count_and_are_reported() -> None:
    """The report names both places."""
    changed = {**pod("a"), "spec": {"nodeName": "n"}}
    dump = load("---\n".join(map(yaml.safe_dump, (pod("a"), pod("b"), changed))))
    assert dump.keyed[Key(PODS, "shop", "a")] == changed
    (problem,) = dump.problems
    assert problem.line == 15
    assert "pods shop/a is there twice and differs (before: the given text:1)" in problem.what
    assert "1 objects were there before" in told(load([pod("a"), pod("a")]))


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ({"kind": "Pod", "metadata": {"name": "a"}}, "an object without apiVersion"),
        ({"apiVersion": "v1", "kind": 3, "metadata": {"name": "a"}}, "an object without kind"),
        ({"apiVersion": "v1", "kind": "Pod"}, "a Pod without metadata"),
        ({"apiVersion": "v1", "kind": "Endpoints"}, "an Endpoints without metadata"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {}}, "a Pod has no name"),
        ({"apiVersion": "audit.k8s.io/v1", "kind": "Event", "verb": "get"}, "give the file as the audit log"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "a-"}}, "generateName makes one only when"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": 7}}, "the name of a Pod is not text: 7"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": 7}}, "is not text: 7"),
        (
            {"apiVersion": "v1", "kind": "Status", "message": "roles is forbidden"},
            "an answer instead of objects: roles is",
        ),
        ({"apiVersion": "meta.k8s.io/v1", "kind": "Table", "rows": []}, "a table for people"),
        ({"apiVersion": "v1", "kind": "PodList", "items": 3}, "the items of a PodList are not a list"),
        ([3, "x", None], "item 2: a line of text where an object should be"),
    ],
)
def test_values_that_are_no_objects_are_reported(value: Any, complaint: str) -> None:
    """Each complaint says what is wrong, and the rest is loaded."""
    dump = load(orjson.dumps([value, pod("z")] if isinstance(value, dict) else [*value, pod("z")]).decode())
    assert names(dump) == ["z"]
    assert complaint in told(dump)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("NAMESPACE   NAME   READY\nshop   web: 1   1/1\n", "kubectl get"),
        ("NAME   READY\nweb   1/1\n", "where an object should be"),
        ("<html><body>\n502</body></html>\n", "where an object should be"),
        ("{\n", "that is not JSON"),
        ("[1, 2\n", "that is not JSON"),
    ],
)
def test_files_that_are_no_dump_are_reported(text: str, complaint: str) -> None:
    """Tables, pages and fragments give a problem, never an exception."""
    dump = load(text)
    assert not len(dump)
    assert complaint in told(dump)


def test_messages_of_kubectl_in_between_are_skipped() -> None:
    """Warnings that were redirected into the file are noted."""
    dump = load("Warning: v1 ComponentStatus is deprecated\n" + orjson.dumps(TWO).decode())
    assert names(dump) == ["a", "b"]
    assert dump.problems[0].line == 1


def test_namespaces_are_put_right() -> None:
    """A namespaced object without one goes to default; a cluster-scoped object cannot have one."""
    bare: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    node: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "namespace": "shop"}}
    dump = load([bare, node])
    assert [(key.namespace, key.name) for key in dump.keyed] == [("default", "a"), ("", "n")]
    assert dump.objects[0]["metadata"] == {"name": "a", "namespace": "default"}
    assert dump.objects[1]["metadata"] == {"name": "n"}
    assert [problem.weight for problem in dump.problems] == ["changed", "changed"]
    assert bare["metadata"] == {"name": "a"}


def test_secret_values_stay_out_unless_asked_for() -> None:
    """Keys stay; values go, also from the annotation that repeats the object."""
    applied = orjson.dumps({"kind": "Secret", "stringData": {"password": "hunter2"}}).decode()
    meta = {"name": "db", "namespace": "shop", "annotations": {LAST_APPLIED: applied, "team": "x"}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": {"password": "aHVudGVyMg=="}}
    dump = load(secret)
    (kept,) = dump.objects
    assert kept["data"] == {"password": ""}
    assert "hunter2" not in str(kept)
    assert "aHVudGVyMg" not in str(kept)
    assert orjson.loads(kept["metadata"]["annotations"][LAST_APPLIED])["stringData"] == {"password": ""}
    assert dump.withheld == 1
    assert "secrets=True" in repr(dump)
    assert load(secret, secrets=True).objects == (secret,)
    unreadable = {**secret, "metadata": {**meta, "annotations": {LAST_APPLIED: '{"data": {"password": "aHVud'}}}
    assert load(unreadable).objects[0]["metadata"]["annotations"] == {}


def test_problems_do_not_repeat_what_a_broken_secret_says() -> None:
    """A message may name the kind of a broken document, and none of its values."""
    dump = load('{"kind": "Secret", "data": {"password": "aHVudGVyMg==" oops}}')
    assert "aHVud" not in told(dump)
    dump = load("kind: Secret\ndata:\n  password: aHVudGVyMg==\n oops: [aHVudGVyMg==\n")
    assert dump.lost
    assert "aHVud" not in told(dump)


def test_custom_resources_are_named_by_their_definitions() -> None:
    """The plural comes from the definition in the same dump, and is a reported guess without it."""
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "mice.zoo.example"},
        "spec": {
            "group": "zoo.example",
            "scope": "Cluster",
            "names": {"plural": "mice", "kind": "Mouse"},
            "versions": [{"name": "v1", "served": True, "storage": True}],
        },
    }
    mouse = {"apiVersion": "zoo.example/v1", "kind": "Mouse", "metadata": {"name": "m"}}
    dump = load([mouse, definition])
    assert dump.snapshot().get(GroupResource("zoo.example", "mice"), "m") == mouse
    assert not dump.problems
    guessed = load(mouse)
    assert guessed.captured == {GroupResource("zoo.example", "mouses")}
    assert "it was taken for mouses.zoo.example" in told(guessed)
    assert load({"apiVersion": "zoo.example/v1", "kind": "MouseList", "items": []}, captured=()).captured


def test_kinds_that_no_server_keeps_are_left_out() -> None:
    """An access review in a folder of manifests is not an object of the cluster."""
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {"name": "r"}}
    dump = load([review, pod("a")])
    assert names(dump) == ["a"]
    assert "1 of kind SubjectAccessReview, which no server keeps" in told(dump)


def test_versions_that_the_release_has_given_up_are_noted() -> None:
    """They are read in the version that is left, under the resource of their kind."""
    old = {"apiVersion": f"{RBAC}/v1beta1", "kind": "Role", "metadata": {"name": "r", "namespace": "kube-system"}}
    dump = load(old)
    assert dump.snapshot().get(ROLES, "r", "kube-system") == {**old, "apiVersion": f"{RBAC}/v1"}
    assert "does not serve" in told(dump)


def test_nodes_that_run_another_release_are_noted() -> None:
    """The release by which kinds are read may be the wrong one."""
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n"},
        "status": {"nodeInfo": {"kubeletVersion": "v1.27.3"}},
    }
    assert "nodes run 1.27, but kinds were read as of 1.30" in told(load(node))
    node["status"] = {"nodeInfo": {"kubeletVersion": "v1.30.14"}}
    assert not load(node).problems


def test_damaged_compression_gives_what_comes_before_the_damage() -> None:
    """Half a gzip file is half a dump."""
    text = "\n".join(orjson.dumps(pod(f"p{number}-{number * 7919 % 1009}")).decode() for number in range(2000))
    dump = load(gzip.compress(text.encode())[:-4000])
    assert 100 < len(dump) < 2000
    assert "damaged" in told(dump)


def test_descriptions_are_for_readers() -> None:
    """The repr counts and names problems; the HTML escapes what files say."""
    dump = load([pod("a"), {"apiVersion": "v1", "kind": "<b>", "metadata": {}}])
    assert repr(dump).startswith("<Dump: 1 objects of 1 resources, read as release 1.30\n  1 pods\n  1 not read")
    assert "<b>&lt;b&gt;" not in dump._repr_html_()
    assert "a &lt;b&gt; has no name" in dump._repr_html_()


@needs_shared
def test_both_forms_of_a_recorded_dump_give_the_same() -> None:
    """2,920 objects as one JSON list and as 595 YAML files: the same objects, captured alike, nothing to report."""
    one = load(SHARED / "datasets" / "operators-and-teams.json.gz")
    many = load(SHARED / "datasets" / "operators-and-teams-yaml.tar.gz")
    assert dict(one.keyed) == dict(many.keyed)
    assert one.captured == many.captured
    assert len(one) == 2920
    assert one.withheld == 69
    assert not one.problems
    assert not many.problems


def test_text_may_be_indented_as_a_whole() -> None:
    """Manifests within code are indented along with it, also the lines between them."""
    dump = load(
        """
        {apiVersion: v1, kind: Namespace, metadata: {name: a}}
        ---
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: b, namespace: a}
        data:
          text: |
            indented
              more
        """
    )
    assert [obj["kind"] for obj in dump.objects] == ["Namespace", "ConfigMap"]
    assert dump.objects[1]["data"] == {"text": "indented\n  more\n"}
    assert not dump.problems or all(problem.weight == "note" for problem in dump.problems)


def test_a_dump_that_tells_the_release_of_its_server_is_read_as_of_it(tmp_path: Path) -> None:
    """The answer of kubectl version, and what a dump keeps of it, say more than the kubelets of nodes."""
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n"},
        "status": {"nodeInfo": {"kubeletVersion": "v1.32.3"}},
    }
    version = {"clientVersion": {"minor": "30"}, "serverVersion": {"major": "1", "minor": "33+"}}
    dump = load([version, node])
    assert (dump.release, dump.server_release, len(dump), list(dump.problems)) == ("1.33", "1.33", 1, [])
    assert load([version, node], release="1.31").release == "1.31"
    for name in ("again.json", "again.yaml.gz"):
        assert load(save(dump, tmp_path / name)).release == "1.33"
    assert load([{"serverVersion": {"major": "1", "minor": "99"}}, node]).release == RELEASES[-1]
    assert load([{"serverVersion": {"major": "one", "minor": ""}}, node]).release == "1.30"
