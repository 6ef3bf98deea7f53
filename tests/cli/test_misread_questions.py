"""Questions that are easily misread: each answer says what it is about, or the question is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

import simkit
from simkit.analysis.access.resolve import CONNECTIONS, connection_verbs
from simkit.cli import main
from simkit.meta import datasets
from simkit.meta.errors import SimkitError
from tests.analysis.worlds import binding, role, rule, world

pytestmark = pytest.mark.filterwarnings("always::UserWarning")


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """The exit code of a command, its answer and its notes."""
    code = main(list(words))
    out, notes = capsys.readouterr()
    return code, out, notes


DEMO = str(datasets.path(datasets.DEMO))
TOLD = {
    ("can-i", "get", "pods", "--as", "anonymous", "--demo"): "user:system:anonymous",
    ("can-i", "get", "pods", "--as", "group:authenticated", "--demo"): "group:system:authenticated",
    ("can-i", "get", "pods", "--as", "nobody-here", "--demo"): "no binding names user:nobody-here",
    ("diff", DEMO, DEMO, "--subject", "group:oidc:helpdeks"): "did you mean group:oidc:helpdesk?",
    ("history", "since", "nobody-here", "get", "secrets", DEMO): "no binding names user:nobody-here",
    ("can-i", "get", "pods", "--as", "nowhere/nobody", "--demo"): "there is no service account sa:nowhere/nobody",
    ("who-can", "create", "configmaps", "mine", "--demo"): "does not name the object",
    ("can-i", "create", "configmaps", "mine", "--as", "group:oidc:on-call", "--demo"): "does not name the object",
    ("who-can", "get", "pods/*", "--demo"): "'*' is taken literally",
    ("who-can", "get", "/a/*/b", "--demo"): "'*' is taken literally",
    ("who-can", "create", "pods/exec", "--demo"): "create or get is enough for exec",
    ("who-can", "list", "nodes", "-n", "billing", "--demo"): "nodes is not namespaced, so -n billing does not apply",
    ("bindings", "--subject", "release-train", "--demo"): "did you mean sa:ci/release-train?",
}
REFUSED = {
    ("permissions", "nobody-here", "--demo"): "no binding names user:nobody-here",
    ("permissions", "anonymous", "--demo"): "user:system:anonymous",
    ("permissions", "sa:nowhere/nobody", "--demo"): "there is no service account",
    ("can-i", "--list", "--as", "nobody-here", "--demo"): "no binding names user:nobody-here",
    ("who-can", "create", "things.example.com", "--demo"): "--api-group example.com",
    ("who-can", "scale", "deployments", "--demo"): "it is a subresource",
    ("who-can", "get", "deployments.apps/v1", "--demo"): "write the API group alone, apps",
    ("who-can", "get", "deployments", "--api-group", "apps/v1", "--demo"): "write the API group alone, apps",
    ("escalations", "--subject", "cluster-admin", "--demo"): "'cluster-admin' is a goal",
    ("history", "can", "user:ann", "get", "pods", DEMO, DEMO): "two dumps tell the same moment",
    ("history", "changes", DEMO, DEMO, "--dumped-at", "2026-01-01", "--dumped-at", "2026-01-01"): "one moment twice",
}


@pytest.mark.parametrize("words", TOLD, ids=" ".join)
def test_the_answer_says_what_it_is_about(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """The question is answered as it is written, with a note."""
    code, out, notes = answer(capsys, *words)
    assert code in (0, 1)
    assert (out + notes).count(TOLD[words]) == 1


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_a_question_about_nothing_is_refused(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong use has exit code 2, no answer, and says what to write."""
    code, out, notes = answer(capsys, *words)
    assert (code, out) == (2, "")
    assert REFUSED[words] in notes


@pytest.mark.parametrize("release", ["1.30", "1.34", "1.35"])
@pytest.mark.parametrize("word", CONNECTIONS)
def test_who_can_connect_is_answered_by_what_works(word: str, release: str) -> None:
    """Exec by a WebSocket is a GET: to 1.34 its right is enough, from 1.35 on create is needed, as the engine has it."""
    subresource = CONNECTIONS[word]
    objects = [
        *(role(f"r-{verb}", rule(verb, f"pods/{subresource}")) for verb in ("get", "create", "delete")),
        *(binding(verb, f"r-{verb}", f"user:{verb}") for verb in ("get", "create", "delete")),
    ]
    cluster = simkit.load({"apiVersion": "v1", "kind": "List", "items": list(objects)}, release=release, captured=["*"])
    snapshot = cluster.snapshot()
    assert connection_verbs(snapshot) == (("create",) if release == "1.35" else ("create", "get"))
    found = set(cluster.who_can(word, "pods")["subject"]) - {"group:system:masters"}
    assert found == {f"user:{verb}" for verb in connection_verbs(snapshot)}
    for verb in ("get", "create", "delete"):
        assert bool(cluster.can(f"user:{verb}", word, "pods")) is (verb in connection_verbs(snapshot))


@pytest.mark.parametrize("verb", ["create", "get"])
def test_both_spellings_of_exec_have_one_answer(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    """``who-can exec pods`` and ``who-can create pods/exec`` list the same; --api-group asks for one verb as it is."""
    asked = [
        answer(capsys, "who-can", *words, "--demo", "-o", "json")[1]
        for words in (("exec", "pods"), (verb, "pods/exec"))
    ]
    assert orjson.loads(asked[0]) == orjson.loads(asked[1])
    alone = answer(capsys, "who-can", verb, "pods/exec", "--api-group", "", "--demo", "-o", "json")[1]
    assert len(orjson.loads(alone)) < len(orjson.loads(asked[0])) or verb == "get"


def test_a_name_is_taken_as_it_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """NAMESPACE/NAME stands for a service account, and for an object in a namespace."""
    dump = simkit.demo().dump
    assert dump is not None
    account = next(key for key in dump.keyed if key.resource.resource == "serviceaccounts")
    place = f"{account.namespace}/{account.name}"
    alike = [answer(capsys, "permissions", text, "--demo", "-o", "json") for text in (place, f"sa:{place}")]
    assert alike[0] == alike[1]
    whole = ("get", "serviceaccounts", account.name, "-n", account.namespace)
    words = [("get", "serviceaccounts", place), whole]
    alike = [answer(capsys, "who-can", *each, "--demo", "-o", "json") for each in words]
    assert alike[0] == alike[1]


@pytest.mark.parametrize("command", [("who-can", "get", "pods"), ("escalations",), ("audit",)])
def test_pasted_manifests_are_read_as_such(command: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Objects that were never in a cluster are manifests, which the notes say; the answer is that of --manifests."""
    import yaml

    path = tmp_path / "chart.yaml"
    objects = [role("r", rule("get", "pods")), binding("b", "r", "user:ann")]
    path.write_text("\n---\n".join(yaml.safe_dump(one) for one in objects))
    found = answer(capsys, *command, str(path))
    assert "(--manifests)" in found[2]
    assert found[:2] == answer(capsys, *command, str(path), "--manifests")[:2]


def test_a_goal_is_no_subject() -> None:
    """In Python, too, a goal in the place of a subject is refused; a user of that name may be asked about."""
    with pytest.raises(SimkitError, match="is a goal"):
        simkit.demo().escalations("cluster-admin")
    assert not simkit.demo().escalations("user:cluster-admin")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (rule("get", "pods,pods/*"), "pods/* is not a wildcard"),
        (rule("get", "deployments", groups="apps,apps/v1"), "apps/v1 includes a version"),
        (rule("get,scale", "deployments", groups="apps"), "no request has the verb scale"),
    ],
)
def test_a_part_of_a_rule_that_never_applies_is_a_finding(words: Any, told: str) -> None:
    """The rest of the rule allows something, which hides the slip."""
    from simkit.analysis import audit

    found = audit(world(role("r", words), binding("b", "r", "user:ann")))
    assert any(told in finding.message for finding in found.findings)
