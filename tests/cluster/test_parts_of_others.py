"""Parts of other packages: given in Options, and registered as entry points."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simkit.analysis.escalation.table.primitive import PACKAGES
from simkit.analysis.findings.audit import FINDINGS
from simkit.client.controller import Client
from simkit.client.lister import Lister
from simkit.cluster.access import AUTHORIZERS
from simkit.cluster.cluster import Cluster
from simkit.cluster.controllers import CONTROLLERS
from simkit.cluster.options import Options
from simkit.cluster.plugins import PLUGINS
from simkit.meta.attributes import ALLOW, NO_OPINION, Attributes, Decision
from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity
from simkit.meta.message import Request
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object
from simkit.seams import Change, Operation, Review, RuleList
from simkit.seams.parts import PartRegistry

MAPS = GroupResource("", "configmaps")
ANN, BOB = Identity("ann"), Identity("bob")
Install = Callable[..., None]


class Ann:
    """Allows Ann everything, and fails about Mallory."""

    leaves_process = False

    def authorize(self, ask: Attributes) -> Decision:
        if ask.identity.user == "mallory":
            raise ValueError("out of order")
        return Decision(ALLOW if ask.identity.user == "ann" else NO_OPINION)

    def rules_for(self, identity: Identity, namespace: str) -> RuleList:
        return RuleList()


class Stamp:
    """Puts a key into each ConfigMap, and fails about one name."""

    name, resources, leaves_process = "Stamp", frozenset({MAPS}), False
    operations: frozenset[Operation] = frozenset({"CREATE"})

    def mutate(self, review: Review) -> Object:
        if review.name == "broken":
            raise ValueError("out of order")
        assert review.object is not None
        return {**review.object, "data": {"stamp": "here"}}


class Sweep:
    """Deletes each ConfigMap of one name."""

    name, account, watches = "sweep", "namespace-controller", frozenset({MAPS})

    def concerns(self, change: Change) -> bool:
        return change.entry.key.resource == MAPS

    def resume_from(self, other: Any) -> None:
        return

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        return [change.entry.key]

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return []

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        if key.name == "litter" and lister.get(key) is not None:
            client.perform(Request.of("DELETE", f"/api/v1/namespaces/{key.namespace}/configmaps/litter"))
        return None


def config(name: str) -> Request:
    """The creation of a ConfigMap."""
    return Request.of("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": name}})


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a package with entry points on the path; registries forget what was installed before, and afterwards."""
    registries: tuple[PartRegistry[Any], ...] = (AUTHORIZERS, PLUGINS, CONTROLLERS, FINDINGS, PACKAGES)
    for registry in registries:
        registry.__dict__.pop("_installed", None)
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(package: str, points: str, module: str = "") -> None:
        (tmp_path / f"{package}.py").write_text(module)
        info = tmp_path / f"{package}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(points)

    yield install
    for registry in registries:
        registry.__dict__.pop("_installed", None)


def test_an_authorizer_of_the_options() -> None:
    """It is asked where its mode stands; when it raises, the request gets a 500 and no yes or no."""
    options = Options(seed=1, authorization_mode=["RBAC", "Ann"], authorizers={"Ann": Ann()})
    cluster = Cluster(options=options)
    for one in (cluster, cluster.fork()):
        statuses = [one.perform(config("a"), identity=Identity(user)).status for user in ("ann", "bob", "mallory")]
        assert statuses == [201, 403, 500]
    assert [caveat.id for caveat in cluster.can("ann", "get", "secrets").caveats] == ["undecided-authorizer"]


def test_an_authorizer_that_no_mode_names() -> None:
    """An authorizer that would never be asked is an error, and so is a name of simkit."""
    with pytest.raises(SimkitError, match='authorizer "Ann" is not among the authorization modes'):
        Cluster(options=Options(authorizers={"Ann": Ann()}))
    with pytest.raises(SimkitError, match="the name 'RBAC' is taken by simkit"):
        Cluster(options=Options(authorizers={"RBAC": Ann()}))


def test_an_admission_plugin_of_the_options() -> None:
    """It is on; when it raises, the write gets a 500, and nothing is stored."""
    cluster = Cluster(options=Options(seed=1, admission_plugins=[Stamp()]))
    for one in (cluster, cluster.fork()):
        assert one.perform(config("a")).object["data"] == {"stamp": "here"}
        assert one.perform(config("broken")).status == 500
        assert one.perform(Request.of("GET", "/api/v1/namespaces/default/configmaps/broken")).status == 404
    names = [plugin.name for plugin in cluster.engine.admission.plugins]
    assert names.index("PodSecurity") < names.index("Stamp") < names.index("MutatingAdmissionWebhook")


def test_a_controller_of_the_options() -> None:
    """It acts in the cluster and in its forks, and can be switched off by its name."""
    options = Options(seed=1, reconcilers=[Sweep()])
    cluster = Cluster(options=options)
    for one, left in ((cluster, 404), (cluster.fork(), 404), (_without_sweep(options), 200)):
        one.perform(config("litter"))
        one.settle()
        found = one.perform(Request.of("GET", "/api/v1/namespaces/default/configmaps/litter"))
        assert found.status == left


def _without_sweep(options: Options) -> Cluster:
    return Cluster(options=replace(options, controllers=["*", "-sweep"]))


def test_parts_of_packages(installed: Install) -> None:
    """They are imported when they are asked for by name, and not before."""
    installed(
        "others",
        "[simkit.authorizers]\nTheirs = others:authorizer\n[simkit.admission]\nStamp = others:plugin\n"
        "[simkit.controllers]\nsweep = others:reconciler\n",
        "from tests.cluster.test_parts_of_others import Ann, Stamp, Sweep\n"
        "def authorizer(context): return Ann()\n"
        "def plugin(context):\n    assert context.of('Stamp') == {}\n    return Stamp()\n"
        "def reconciler(context):\n    assert context.clock.now()\n    return Sweep()\n",
    )
    with pytest.raises(SimkitError, match=r"known modes: .*RBAC, Node, Theirs"):
        Cluster(options=Options(authorization_mode=["Rbac"]))
    Cluster(options=Options(seed=1, controllers=["*"]))
    assert "others" not in sys.modules
    cluster = Cluster(
        options=Options(
            seed=1,
            authorization_mode=["RBAC", "Theirs"],
            enable_admission_plugins=["Stamp"],
            controllers=["*", "sweep"],
        )
    )
    assert [cluster.perform(config("a"), identity=each).status for each in (ANN, BOB)] == [201, 403]
    assert cluster.get("configmap", "a", namespace="default")["data"] == {"stamp": "here"}
    assert cluster.perform(config("litter")).status == 201
    cluster.settle()
    assert cluster.perform(Request.of("GET", "/api/v1/namespaces/default/configmaps/litter")).status == 404


def test_a_part_that_cannot_be_imported(installed: Install) -> None:
    """The error names the package, the entry point and the reason."""
    installed("broken_part", "[simkit.authorizers]\nBroken = broken_part:make\n", "raise RuntimeError('no licence')")
    with pytest.raises(
        SimkitError, match=r"package broken_part 1\.2: .*'Broken'.*broken_part:make.*RuntimeError: no licence"
    ):
        Cluster(options=Options(authorization_mode=["Broken"]))


def test_a_part_that_ends_the_interpreter(installed: Install) -> None:
    """A package that exits when it is imported, with the code of a success, ends no command: nothing was answered."""
    points = "".join(f"[simkit.{group}]\n{group} = leaving:part\n" for group in ("findings", "primitives", "admission"))
    installed("leaving", points, "import sys\nsys.exit(0)")
    for registry in (FINDINGS, PACKAGES, PLUGINS):
        name = registry.group.removeprefix("simkit.")
        with pytest.raises(SimkitError, match=r"package leaving 1\.2: .* cannot be imported: raised SystemExit: 0"):
            registry[name]


def test_a_part_that_calls_itself_otherwise(installed: Install) -> None:
    """A package cannot pass a part under the name of another one, such as simkit's."""
    installed("posing", "[simkit.admission]\nMine = posing:make\n[simkit.controllers]\nmine = posing:sweep\n", POSING)
    with pytest.raises(SimkitError, match="registered as 'Mine' calls itself 'PodSecurity'"):
        Cluster(options=Options(enable_admission_plugins=["Mine"]))
    with pytest.raises(SimkitError, match="registered as 'mine' calls itself 'sweep'"):
        Cluster(options=Options(controllers=["mine"]))


POSING = """
from tests.cluster.test_parts_of_others import Stamp, Sweep
def make(context):
    plugin = Stamp()
    plugin.name = "PodSecurity"
    return plugin
def sweep(context): return Sweep()
"""


def test_names_that_are_taken(installed: Install) -> None:
    """Two packages cannot have one name, and none can have one of simkit."""
    installed("first", "[simkit.test]\nMine = first:make\n")
    installed("second", "[simkit.test]\nMine = second:make\n[simkit.other]\nRBAC = second:make\n")
    with pytest.raises(SimkitError, match=r"package (first|second) 1\.2 and package (first|second) 1\.2 both register"):
        PartRegistry[object]("simkit.test", {})["Mine"]
    with pytest.raises(SimkitError, match=r"package second 1\.2 registers 'RBAC' in simkit\.other"):
        PartRegistry[object]("simkit.other", {"RBAC": 1})["Mine"]
    with pytest.raises(SimkitError, match="2 of the given parts have the name 'Stamp'"):
        Cluster(options=Options(admission_plugins=[Stamp(), Stamp()]))
    assert PartRegistry[object]("simkit.other", {"RBAC": 1})["RBAC"] == 1
