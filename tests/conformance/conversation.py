"""Recorded conversations with kube-apiserver, and their repetition with another server."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from tests.conformance.differences import Normalizer, differences, drop, lookup
from tests.conformance.recordings import lines

_COMPARED_HEADERS: Final = ("content-type", "warning", "retry-after", "location", "content-encoding")
_VARIABLE: Final = re.compile(r"\{\{([A-Za-z0-9_.-]+)\}\}")
_POLL_SECONDS: Final = 0.25
Step = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One conversation: requests in order, each with the answer that kube-apiserver gave."""

    name: str
    area: str
    steps: Sequence[Step]

    @property
    def answers(self) -> int:
        """The number of recorded answers."""
        return sum("sleep" not in step for step in self.steps)


class Answer(NamedTuple):
    """The answer of a server: status, the compared headers by lower-case name, the body."""

    status: int
    headers: Mapping[str, Sequence[str]]
    body: bytes


class Server(Protocol):
    """A server that conversations are held with."""

    def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, *, user: str) -> Answer:
        """The answer to a request; ``user`` is one of the token file, or anonymous."""
        ...

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        ...


class Outcome(NamedTuple):
    """The comparison of one answer: the number of its step, all differences, and those beyond wording."""

    step: int
    differences: Sequence[str]
    soft: Sequence[str]


@cache
def recorded(bundle: str) -> Mapping[str, Sequence[Case]]:
    """The conversations of a file in ``recorded``, by area."""
    found: dict[str, list[Case]] = {}
    for case in lines(bundle):
        found.setdefault(case["area"], []).append(Case(case["name"], case["area"], case["steps"]))
    return found


def in_folder(folder: Path) -> Mapping[str, Sequence[Case]]:
    """The conversations of a folder that holds one folder for each area, in each one JSON file for each case."""
    found: dict[str, list[Case]] = {}
    for path in sorted(folder.rglob("*.json")):
        area = path.relative_to(folder).parts[0]
        found.setdefault(area, []).append(Case(path.stem, area, json.loads(path.read_text())["steps"]))
    return found


def unique_stamp(name: str) -> str:
    """The part of names that tells the objects of a case from those of others; a letter first, so that no number is it."""
    return f"a{hashlib.sha256(name.encode()).hexdigest()[:7]}"


def hold(server: Server, case: Case) -> Iterator[Outcome]:
    """Repeat a conversation with a server, and compare each answer with the recorded one."""
    stamp = unique_stamp(case.name)
    variables, normalize = {"unique": stamp}, Normalizer({stamp: "<unique>"})
    for number, step in enumerate(case.steps):
        if "sleep" in step:
            server.wait(step["sleep"])
            continue
        answer = asked(server, step, variables)
        body = parsed_body(answer.body)
        for name, value in saved(step, body).items():
            variables[name] = value
            if (step.get("mark") or {}).get(name):
                normalize.replacements[str(value)] = f"<{name}>"
        compared = compared_parts(step, answer, body, normalize)
        expected = step.get("expect")
        found = list(differences(expected, compared))
        yield Outcome(number, found, list(differences(expected, compared, soft=True)) if found else ())


def saved(step: Step, body: Any) -> dict[str, Any]:
    """What a step says to keep of its answer for later steps, by name."""
    found = {name: lookup(body, path) for name, path in (step.get("save") or {}).items()}
    return {name: value for name, value in found.items() if value is not None}


def with_token(headers: Mapping[str, str], user: str) -> dict[str, str]:
    """The headers of a request with the token of its user, unless they hold another one or the user is anonymous."""
    if user == "anonymous" or "Authorization" in headers:
        return dict(headers)
    return {**headers, "Authorization": f"Bearer {user}-token"}


def compared_headers(headers: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The headers of an answer that are compared, by lower-case name."""
    found: dict[str, list[str]] = {}
    for name, value in headers:
        if name.lower() in _COMPARED_HEADERS:
            found.setdefault(name.lower(), []).append(value)
    return found


def asked(server: Server, step: Step, variables: Mapping[str, str]) -> Answer:
    """The answer to a step; one that waits for a status asks again until it comes."""
    headers = {
        "Accept": "application/json",
        "User-Agent": "replay/1.0",
        **_filled(step.get("headers") or {}, variables),
    }
    body = _filled(step.get("body"), variables)
    if body is not None:
        headers.setdefault("Content-Type", "application/json")
        body = (body if isinstance(body, str) else json.dumps(body)).encode()
    method, path, user = step["method"], _filled(step["path"], variables), step.get("as", "admin")
    answer = server.send(method, path, headers, body, user=user)
    for _ in range(step.get("retry", 0)):
        if answer.status == step.get("until", 200):
            break
        server.wait(_POLL_SECONDS)
        answer = server.send(method, path, headers, body, user=user)
    return answer


def _filled(value: Any, variables: Mapping[str, str]) -> Any:
    """A value with what was saved from earlier answers in the place of ``{{name}}``."""
    if isinstance(value, str):
        return _VARIABLE.sub(lambda match: str(variables.get(match[1], match[0])), value)
    if isinstance(value, list):
        return [_filled(item, variables) for item in value]
    if isinstance(value, Mapping):
        return {_filled(key, variables): _filled(item, variables) for key, item in value.items()}
    return value


def parsed_body(body: bytes) -> Any:
    """A JSON document, the documents of a stream, or text; None for an empty body."""
    text = body.decode("utf-8", "replace")
    if not text:
        return None
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return {"stream": [json.loads(line) for line in text.split("\n") if line.strip()]}
    except ValueError:
        return text


def compared_parts(step: Step, answer: Answer, body: Any, normalize: Normalizer) -> dict[str, Any]:
    """The parts of an answer that a step compares."""
    compared = step.get("compare", "all")
    plain: dict[str, Any] = {"status": answer.status}
    if compared in ("all", "headers"):
        plain["headers"] = normalize(answer.headers)
    if compared in ("all", "body"):
        plain["body"] = normalize(body)
    if "pick" in step:
        plain["body"] = {path: normalize(lookup(body, path), path.rpartition(".")[2]) for path in step["pick"]}
    drop(plain, step.get("ignore") or ())
    return plain
