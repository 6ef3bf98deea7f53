"""What a rewritten text keeps of its layout."""

from __future__ import annotations

import json

import pytest
import yaml

from simkit.logic.migration.documents import rewrite

INGRESS = """\
apiVersion: networking.k8s.io/v1beta1  # old
kind: Ingress  # ours
metadata:
  name: web
  annotations: {a: "b # no comment"}
spec:
  backend:  # the default
    serviceName: web  # service
    servicePort: 80  # port
"""


def test_comments_at_the_ends_of_lines_are_kept() -> None:
    """Those of fields that move stand above what took their place."""
    after = rewrite(INGRESS, "1.30").text
    for comment in ("# old", "# ours", "# the default", "# service", "# port"):
        assert after.count(comment) == 1
    assert after.count("# no comment") == 1
    assert after.index("# port") < after.index("number: 80")
    assert yaml.safe_load(after)["spec"] == {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_byte_order_marks_and_line_ends(mark: str, end: str) -> None:
    """They stay as they are, on each line."""
    after = rewrite(mark + INGRESS.replace("\n", end), "1.30").text
    assert after == mark + rewrite(INGRESS, "1.30").text.replace("\n", end)


JOB = """{
  "apiVersion": "batch/v1beta1",
  "kind": "CronJob", "metadata": {"name": "a", "labels": {"x": "1"}},
  "spec": {"schedule": "0 0 * * *",
           "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": []}}}}}
}
"""


def test_json_keeps_its_layout() -> None:
    """Where versions are all that changes, also in lists; otherwise the fields are right."""
    assert rewrite(JOB, "1.30").text == JOB.replace("v1beta1", "v1")
    listed = f'{{"kind": "List", "apiVersion": "v1", "items": [{JOB}, {JOB}]}}'
    assert rewrite(listed, "1.30").text == listed.replace("v1beta1", "v1")
    ingress = json.dumps(yaml.safe_load(INGRESS))
    assert json.loads(rewrite(ingress, "1.30").text)["spec"] == yaml.safe_load(rewrite(INGRESS, "1.30").text)["spec"]
