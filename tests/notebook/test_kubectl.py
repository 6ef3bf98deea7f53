"""The kubectl of notebooks prints what kubectl prints, byte for byte, and completes what it knows."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

import simkit
from simkit.meta.errors import SimkitError
from simkit.notebook.completion import completions
from simkit.notebook.kubectl.command import kubectl

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {k: "
COMMANDS = [
    *(("get pods", ""), ("get pods missing", ""), ("get foo", ""), ("create namespace shop", "")),
    *(("create configmap a --from-literal=x=1 -n shop", ""), ("get cm a -n shop -o name", "")),
    *(("create role r --verb=get,list --resource=pods,deployments.apps -n shop", ""), ("describe role r -n shop", "")),
    *(("apply -n shop -f -", MAP + "v}"), ("apply -n shop -f -", MAP + "v}"), ("apply -n shop -f -", MAP + "w}")),
    *(("label cm a team=red -n shop", ""), ("label cm a team=blue -n shop", ""), ("get cm -n shop -l team=red", "")),
    *(("auth can-i get nodes", ""), ("auth can-i get pods --as ann", ""), ("auth whoami", "")),
    *(("replace -n shop -f -", MAP + "x}"), ("create -n shop -f -", MAP + "x}")),
    *(("api-resources", ""), ("explain pods.spec.containers.ports", ""), ("delete cm a b -n shop", "")),
]


MANIFESTS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}, annotations: {note: hello}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      initContainers: [{name: first, image: busybox, command: [sh, -c, "echo\\nhi"]}]
      containers:
      - name: main
        image: nginx
        ports: [{containerPort: 80, name: http}, {containerPort: 443}]
        resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 128Mi}}
        livenessProbe: {httpGet: {path: /healthz, port: 80}}
        env:
        - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
        - {name: KEY, valueFrom: {secretKeyRef: {name: s, key: k, optional: true}}}
        volumeMounts: [{name: tmp, mountPath: /tmp}]
      volumes: [{name: tmp, emptyDir: {}}]
      tolerations: [{key: x, operator: Equal, value: y, effect: NoSchedule}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: http}]}
---
apiVersion: v1
kind: Pod
metadata: {name: alone, labels: {run: alone}}
spec: {containers: [{name: a, image: busybox, args: [x, y]}]}
"""
OTHERS = """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, annotations: {a: b}}
spec:
  ingressClassName: nginx
  tls: [{hosts: [a.example.com], secretName: tls}]
  rules:
  - host: a.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
      - {path: /x, pathType: Exact, backend: {service: {name: none, port: {name: http}}}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk, labels: {a: b}}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /data}
  storageClassName: slow
  persistentVolumeReclaimPolicy: Retain
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim}
spec: {accessModes: [ReadWriteOnce], storageClassName: slow, resources: {requests: {storage: 1Gi}}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: slow, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: example.com/slow
parameters: {type: hdd}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: q}
spec: {hard: {pods: "10"}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: lr}
spec: {limits: [{type: Container, default: {cpu: 1}, max: {cpu: 2}}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: pdb}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 100
description: important
"""
MADE = [
    *("configmap d --from-literal=a=b", "secret generic ss --from-literal=a=b", "serviceaccount sa1", "namespace nn"),
    *("deployment dd --image=nginx", "job j1 --image=busybox", "quota q1 --hard=pods=1", "priorityclass p1 --value=1"),
    *("cronjob cj1 --image=busybox --schedule='* * * * *'", "role r1 --verb=get --resource=pods"),
    *("rolebinding rb1 --clusterrole=view --user=ann", "clusterrolebinding crb1 --clusterrole=view --group=devs"),
]
"""Objects that kubectl only prints; nothing of them may be stored."""
DESCRIBED = [
    *(
        "describe deploy web",
        "describe rs",
        "describe pods",
        "describe svc web",
        "describe nodes",
        "describe ns default",
    ),
    *("describe sa default", "describe lease -n kube-node-lease", "auth can-i --list --as=ann"),
    'get pods -o jsonpath=\'{range .items[*]}{.metadata.name}{"\\t"}{.status.phase}{"\\n"}{end}\'',
    "get pods -o jsonpath=\"{.items[?(@.metadata.name=='alone')]['metadata.name','spec.nodeName']}\"",
    "get pods -o custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[*].image,L:.metadata.labels,X:.nothing",
    *("get cm -A --sort-by=metadata.name", "get nodes --sort-by=.status.capacity.cpu -o name"),
    *("wait --for=condition=Ready pod/missing", "wait --for=delete pod/missing", "wait --for=create pod/alone"),
    *("get pods --sort-by=.nothing", "get pods -L app,run", "get pods -o jsonpath={.items[0", "get --raw /version"),
    *(f"create {made} --dry-run=client -o yaml" for made in MADE),
    *("run pp --image=nginx --dry-run=client -o yaml", "get deploy -o name", "get cm -o name"),
    *(f"describe {word}" for word in ("ing", "pv", "pvc", "sc", "quota", "limits", "pdb", "pc high")),
    *(
        "api-versions",
        "api-resources --verbs=create",
        "auth can-i get nothing",
        "auth can-i get",
    ),
    *("delete pod nothing --ignore-not-found", "label sc --all x=y", "label sc slow nothing-", "get crd -o name"),
    *("cordon node-1", "cordon node-1", "uncordon node-1", "expose deployment web --port=80 --name=again", "run x"),
]
CHANGED = [
    *(
        "set image deploy/web main=nginx:2",
        "set image deploy/web main=nginx:2",
        "set env deploy/web A=b",
        "set env deploy/web A-",
    ),
    *("set resources deploy/web -c=main --limits=cpu=200m", "set serviceaccount deploy/web default"),
    *("set image deploy/web other=nginx", "rollout restart deploy/web", "rollout pause deploy/web"),
    *("rollout pause deploy/web", "rollout resume deploy/web", "rollout resume deploy/web"),
]
"""Commands that give the pods of a deployment other names."""
AGE = re.compile(r"\b(\d+(s|m|h|d))+\b")


@pytest.fixture
def cluster() -> simkit.Cluster:
    """A cluster whose controllers have come to rest."""
    made = simkit.Cluster(seed=1)
    made.settle()
    return made


def _kubectl_1_32() -> str | None:
    """kubectl 1.32, or the one of the machine: some are packaged with one program for each release."""
    found = shutil.which("kubectl")
    if found is None:
        return None
    own = Path(found).resolve().with_name("kubectl.1.32")
    return str(own) if own.exists() else found


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl")
def test_it_prints_what_kubectl_prints(cluster: simkit.Cluster, tmp_path: Path) -> None:
    """Text and exit code of each command against a served cluster and against one in this process, but for ages."""
    cluster.add_nodes(2)
    cluster.apply(MANIFESTS)
    cluster.apply(OTHERS)
    cluster.settle()
    own = cluster.fork()
    server = cluster.serve(kubeconfig=tmp_path / "kubeconfig")
    asked = [*((line, "") for line in DESCRIBED), *COMMANDS, *((line, "") for line in CHANGED)]
    try:
        for line, text in asked:
            command = [str(_kubectl_1_32()), "--kubeconfig", str(tmp_path / "kubeconfig"), *shlex.split(line)]
            done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
            printed = kubectl(own, line, text)
            answered = (done.stdout + done.stderr).replace("kubernetes-admin", "simkit-admin")  # of the kubeconfig
            told, shown = (AGE.sub("AGE", each) for each in (answered, printed.text))
            assert (shown, printed.code) == (told, done.returncode), line
    finally:
        server.stop()


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
        ("get pods -w", "nothing can be watched; next: `wait"),
        ("edit cm a", "a cell is the editor; next: `get KIND NAME -o yaml`"),
        ("exec -it web -- sh", "next: cluster.serve"),
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
