"""The kubectl of notebooks: conditions, mistakes, rights, completion and magics. What it prints has a test of its own."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

import simkit
from simkit.meta.errors import SimkitError
from simkit.notebook.completion import completions
from simkit.notebook.kubectl.command import kubectl

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {k: "


@pytest.fixture
def cluster() -> simkit.Cluster:
    """A cluster whose controllers have come to rest."""
    made = simkit.Cluster(seed=1)
    made.settle()
    return made


def test_a_condition_is_waited_for_on_a_simulated_clock() -> None:
    """The clock is turned until it holds, or the time is over."""
    made = simkit.Cluster(options=simkit.Options(clock=simkit.SimulatedClock()))
    made.add_nodes(1)
    printed = kubectl(made, "run web --image=nginx")
    assert str(printed) == "pod/web created\n"
    assert str(kubectl(made, "wait --for=condition=Ready pod/web --timeout=60s")) == "pod/web condition met\n"
    late = kubectl(made, "wait --for=condition=Nonsense pod/web --timeout=5s")
    assert (late.text, late.code) == ("error: timed out waiting for the condition on pods/web\n", 1)


def test_documents_are_printed(cluster: simkit.Cluster) -> None:
    """An object comes without its managed fields, several as a list."""
    kubectl(cluster, "create configmap a --from-literal=x=1")
    text = kubectl(cluster, "get cm a -o yaml").text
    assert text.startswith('apiVersion: v1\ndata:\n  x: "1"\nkind: ConfigMap\n')
    assert "managedFields" not in text
    assert '"kind": "List"' in kubectl(cluster, "get cm -o json").text


def test_rights_are_those_of_the_user(cluster: simkit.Cluster) -> None:
    """Requests are made in the name of ``--as``, and refusals are the server's."""
    printed = kubectl(cluster, "get secrets --as user:ann")
    assert not printed
    assert printed.text.startswith('Error from server (Forbidden): secrets is forbidden: User "ann" cannot list')
    assert "&quot;ann&quot;" in printed._repr_html_()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("frobnicate", 'error: unknown command "frobnicate"'),
        ("get pods --nope", "error: unknown flag: --nope"),
        ("get", "error: Required resource not specified."),
        ("get pods -o sideways", "error: unable to match a printer"),
        ("delete cm", "error: resource(s) were provided, but no name was specified"),
        ("apply -f nowhere.yaml", 'error: the path "nowhere.yaml" does not exist'),
        ("get 'pods", "error: No closing quotation"),
        ("get pods,svc -w", "you may only specify a single resource type"),
        ("get pods -w --request-timeout=soon", "next: --request-timeout=30s"),
        ("config set-credentials me", "next: cluster.serve(kubeconfig=...)"),
        ("get ns -o go-template={{.metadata", "Error executing template: "),
        ("edit cm a", "a cell is the editor; next: `get KIND NAME -o yaml`"),
        ("attach -it web", "next: cluster.serve"),
        ("get pods -o jsonpath={.items[0", "unterminated array"),
        ("get pods -o custom-columns=NAME", "expected <header>:<json-path-expr>"),
        ("get ns -o name --sort-by=.nothing", "couldn't find any field with path"),
        ("wait --for=nonsense ns/default", "next: --for=condition=Ready"),
    ],
)
def test_mistakes_are_told(cluster: simkit.Cluster, line: str, told: str) -> None:
    """Wrong use ends with exit code 1 and a sentence."""
    printed = kubectl(cluster, line)
    assert printed.code == 1
    assert told in printed.text


@pytest.mark.parametrize(
    ("line", "begun", "word"),
    [
        ("%kubectl ge", "ge", "get"),
        ("%kubectl get nam", "nam", "namespaces"),
        ("%kubectl get ns kube-s", "kube-s", "kube-system"),
        ("%kubectl get ns/kube-s", "ns/kube-s", "ns/kube-system"),
        ("%kubectl get cm -n kube-system kube-r", "kube-r", "kube-root-ca.crt"),
        ("%kubectl get cm -n kube-p", "kube-p", "kube-public"),
        ("%kubectl get cm -o ya", "ya", "yaml"),
        ("%kubectl auth can-i del", "del", "delete"),
        ("%kubectl auth can-i delete deplo", "deplo", "deployments"),
        ("%kubectl get --al", "--al", "--all-namespaces"),
    ],
)
def test_words_are_completed(cluster: simkit.Cluster, line: str, begun: str, word: str) -> None:
    """Commands, kinds, names, namespaces, forms of output, verbs and flags."""
    assert word in completions(cluster, line, begun)


def test_magics_run_in_a_notebook(cluster: simkit.Cluster) -> None:
    """``%load_ext simkit`` gives line and cell magics on the variable ``cluster``, and their completion."""
    shell = InteractiveShell.instance()
    run: Callable[..., Any] = shell.run_cell_magic
    shell.run_line_magic("load_ext", "simkit")
    shell.user_ns.pop("cluster", None)
    with pytest.raises(SimkitError, match="no cluster named 'cluster'"):
        shell.run_line_magic("kubectl", "get ns")
    shell.user_ns["cluster"] = shell.user_ns["other"] = cluster
    assert str(run("apply", "-n default", MAP + "v}")) == "configmap/b created\n"
    assert str(shell.run_line_magic("kubectl", "get cm b -o name --cluster other")) == "configmap/b\n"
    printed = run("kubectl", "", "# two commands\nkubectl create ns a\nget ns a -o name\n")
    assert str(printed) == "namespace/a created\nnamespace/a\n"
    line = "%kubectl get ns kube-s"
    with provisionalcompleter():
        assert "kube-system" in [each.text for each in shell.Completer.completions(line, len(line))]


def test_a_watch_shows_what_happens_while_the_clock_is_turned() -> None:
    """A row for each change within the time, in columns that keep their width; without changes the present objects."""
    made = simkit.Cluster(options=simkit.Options(clock=simkit.SimulatedClock()))
    made.add_nodes(1)
    assert kubectl(made, "get pods -w --request-timeout=1s").text == ""
    kubectl(made, "run web --image=nginx")
    lines = kubectl(made, "get pods -w --request-timeout=30s").text.splitlines()
    assert lines[0].split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert [line.split()[2] for line in lines[1:]][-1] == "Running"
    assert len(lines) > 2
    assert len({line.index(line.split()[1]) for line in lines}) == 1


def test_data_comes_from_files(cluster: simkit.Cluster, tmp_path: Path) -> None:
    """Texts as data, other bytes as binary data, the files of a folder, variables, and the errors of kubectl."""
    (tmp_path / "a.txt").write_text("hello\n")
    (tmp_path / "b").write_bytes(b"\xff\x00\x01")
    (tmp_path / "settings.env").write_text("# colours\nA=1\n B=two words\n\nEMPTY=\n")
    made = kubectl(cluster, f"create configmap one --from-file={tmp_path} --from-literal=c=d")
    assert str(made) == "configmap/one created\n"
    live = cluster.get("configmaps", "one", namespace="default")
    assert live["data"] == {"a.txt": "hello\n", "c": "d", "settings.env": "# colours\nA=1\n B=two words\n\nEMPTY=\n"}
    assert live["binaryData"] == {"b": "/wAB"}
    kubectl(cluster, f"create secret generic two --from-env-file={tmp_path}/settings.env")
    values = cluster.get("secrets", "two", namespace="default")["data"]
    assert values == {"A": "MQ==", "B": "dHdvIHdvcmRz", "EMPTY": ""}
    for flag, told in (
        ("--from-file=x=y=z", "error: key names or file paths cannot contain '='\n"),
        (f"--from-file={tmp_path}/gone", f"error: error reading {tmp_path}/gone: no such file or directory\n"),
        (f"--from-file=a.txt={tmp_path}/b --from-file={tmp_path}/a.txt", "another key by that name already exists"),
        (f"--from-file='bad key={tmp_path}/b'", 'error: "bad key" is not a valid key name for a ConfigMap'),
        (f"--from-env-file={tmp_path}/settings.env --from-literal=a=b", "cannot be combined with"),
    ):
        assert told in kubectl(cluster, f"create configmap three {flag}").text


def test_a_secret_of_a_key_pair_needs_both_halves(cluster: simkit.Cluster, tmp_path: Path) -> None:
    """The certificate and the key must belong together."""
    for name in ("one", "other"):
        key = generate_private_key(SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        begin = datetime(2026, 1, 1, tzinfo=UTC)
        built = x509.CertificateBuilder(subject, subject, key.public_key(), 1, begin, begin + timedelta(days=1))
        (tmp_path / f"{name}.crt").write_bytes(built.sign(key, SHA256()).public_bytes(Encoding.PEM))
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (tmp_path / f"{name}.key").write_bytes(pem)
    line = "create secret tls pair --cert={0}/one.crt --key={0}/{1}.key"
    assert "private key does not match public key" in kubectl(cluster, line.format(tmp_path, "other")).text
    assert "no such file or directory" in kubectl(cluster, line.format(tmp_path, "gone")).text
    assert str(kubectl(cluster, line.format(tmp_path, "one"))) == "secret/pair created\n"
    live = cluster.get("secrets", "pair", namespace="default")
    assert (live["type"], sorted(live["data"])) == ("kubernetes.io/tls", ["tls.crt", "tls.key"])


def test_a_node_is_drained() -> None:
    """Its pods are evicted, those of daemon sets stay, and a budget that allows no eviction is told."""
    made = simkit.Cluster(options=simkit.Options(seed=1, clock=simkit.SimulatedClock()))
    made.add_nodes(1)
    kubectl(made, "create deployment web --image=nginx")
    kubectl(made, "run alone --image=nginx")
    made.advance(60)
    refused = kubectl(made, "drain node-0")
    assert refused.code == 1
    assert "cannot delete Pods that declare no controller (use --force to override): default/alone" in refused.text
    kubectl(made, "create poddisruptionbudget web --selector=app=web --min-available=1")
    made.advance(60)
    kept = kubectl(made, "drain node-0 --force")
    assert 'error when evicting pods/"web-' in kept.text
    assert "violate the pod's disruption budget" in kept.text
    kubectl(made, "delete pdb web")
    made.settle()
    drained = kubectl(made, "drain node-0 --force")
    assert drained.code == 0
    assert "node/node-0 drained\n" in drained.text
    assert "alone" not in kubectl(made, "get pods").text


def test_certificates_are_approved_and_denied(cluster: simkit.Cluster) -> None:
    """The condition is there, and the opposite one is refused afterwards."""
    key = generate_private_key(SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ann")])
    asked = x509.CertificateSigningRequestBuilder(subject).sign(key, SHA256()).public_bytes(Encoding.PEM)
    spec = {"signerName": "example.com/own", "usages": ["client auth"], "request": b64encode(asked).decode()}
    kind = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest"}
    cluster.apply({**kind, "metadata": {"name": "ann"}, "spec": spec})
    told = "certificatesigningrequest.certificates.k8s.io/ann approved\n"
    assert str(kubectl(cluster, "certificate approve ann")) == told
    [condition] = cluster.get("certificatesigningrequests", "ann")["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("Approved", "KubectlApprove")
    assert "is already approved" in kubectl(cluster, "certificate deny ann").text
    assert str(kubectl(cluster, "certificate approve ann")) == told


def test_the_namespace_of_the_context_stays(cluster: simkit.Cluster) -> None:
    """It holds for later commands on this cluster alone; ``-n`` still wins."""
    assert str(kubectl(cluster, "config set-context --current --namespace=kube-system")).endswith("modified.\n")
    assert "No resources found in kube-system namespace." in kubectl(cluster, "get pods").text
    assert "No resources found in default namespace." in kubectl(cluster, "get pods -n default").text
    assert "No resources found in default namespace." in kubectl(simkit.Cluster(), "get pods").text


ROLLED = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
"""


def test_a_rollout_is_waited_for() -> None:
    """The clock of the cluster is turned until it is done, or until the controllers give it up."""
    cluster = simkit.Cluster(options=simkit.Options(seed=1, clock=simkit.SimulatedClock()))
    cluster.apply(ROLLED)
    cluster.settle()
    failed = kubectl(cluster, "rollout status deploy/web")
    assert failed.text.startswith(
        'Waiting for deployment "web" rollout to finish: 0 of 2 updated replicas are available'
    )
    assert failed.text.endswith('error: deployment "web" exceeded its progress deadline\n')
    cluster.add_nodes(1)
    assert kubectl(cluster, "rollout restart deploy/web")
    assert "Waiting" in kubectl(cluster, "rollout status deploy/web --watch=false").text
    done = kubectl(cluster, "rollout status deploy/web")
    assert done
    assert done.text.splitlines()[-1] == 'deployment "web" successfully rolled out'
    assert done.text.count("\n") > 1, "each state is told"


def test_a_rollout_is_not_waited_for_without_end(cluster: simkit.Cluster) -> None:
    """On the machine's clock it ends with the time that was given."""
    cluster.apply(ROLLED)
    told = kubectl(cluster, "rollout status deploy/web --timeout=100ms")
    assert told.code == 1
    assert told.text.endswith("error: timed out waiting for the condition\n")


def test_commands_run_in_a_pod() -> None:
    """Of a workload it is the pod that has been ready for longest; what does not end is told."""
    cluster = simkit.Cluster(options=simkit.Options(seed=1, clock=simkit.SimulatedClock()))
    cluster.add_nodes(1)
    cluster.apply(ROLLED)
    cluster.advance(5)
    old = {each["metadata"]["name"] for each in cluster.list("pods")}
    first = min(old)
    cluster.apply(ROLLED.replace("replicas: 2", "replicas: 4"))
    cluster.advance(5)
    assert kubectl(cluster, "exec deploy/web -- hostname").text.strip() in old
    assert kubectl(cluster, f"exec {first} -- sh -c 'echo a; sleep 60; echo b'").text == "a\nb\n"
    endless = kubectl(cluster, f"exec {first} -- sh -c 'while true; do sleep 1; done'")
    assert endless.code == 1
    assert "the command has not ended; next: --request-timeout=60s" in endless.text
    assert kubectl(cluster, f"exec -i {first} -- tr a-z A-Z", "tea\n").text == "TEA\n"


def test_exec_needs_the_right_to_create_it() -> None:
    """As the user who asks."""
    cluster = simkit.Cluster(options=simkit.Options(seed=1, clock=simkit.SimulatedClock()))
    cluster.add_nodes(1)
    cluster.apply(ROLLED)
    cluster.advance(5)
    assert kubectl(cluster, "create clusterrolebinding ann --clusterrole=view --user=ann")
    told = kubectl(cluster, "exec deploy/web --as ann -- ls")
    assert 'User "ann" cannot create resource "pods/exec"' in told.text
