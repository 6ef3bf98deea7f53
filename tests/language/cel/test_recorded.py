"""Recorded answers of kube-apiserver about rules of custom resources."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from simkit.language.cel.decl_types import DeclType, escaped
from simkit.language.cel.environment import CALL_LIMIT, BudgetExceeded, CompileError, Environment, EvaluationError
from simkit.language.cel.types import BOOL, STRING, Type, optional_of
from simkit.language.cel.values import NONE
from simkit.schema.behaviour import default_behaviour
from tests.shared import SHARED, needs_shared

BEHAVIOUR = default_behaviour("1.30")

CASES = SHARED / "conformance" / "cases" / "cel"
_COMPILE = re.compile(
    r"(?P<path>spec\.validation\.openAPIV3Schema\S*?)\.x-kubernetes-validations\[(?P<at>\d+)\]\.(?P<field>rule|messageExpression): "
    r"Invalid value: apiextensions\.ValidationRule\{.*?\(nil\)\}: (?P<text>.*?)(?=, spec\.validation|\]?\Z)",
    re.S,
)
_STAGES = {
    "compilation": "compilation failed: {}",
    "result": "cel expression must evaluate to a bool",
    "instantiation": "program instantiation failed: {}",
}

Node = tuple[str, Mapping[str, Any]]


def _steps(name: str) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = json.loads((CASES / f"{name}.json").read_text())["steps"]
    return steps


def _names() -> list[str]:
    return sorted(path.stem for path in CASES.glob("*.json")) if CASES.is_dir() else []


def _definition(step: Mapping[str, Any]) -> Mapping[str, Any] | None:
    body = step.get("body")
    if not isinstance(body, Mapping) or body.get("kind") != "CustomResourceDefinition":
        return None
    schema: Mapping[str, Any] = body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def _nodes(schema: Mapping[str, Any], path: str = "spec.validation.openAPIV3Schema") -> Iterator[Node]:
    """Nodes with rules, under the paths that errors name."""
    if schema.get("x-kubernetes-validations"):
        yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from _nodes(inner, f"{path}.properties[{name}]")
    if isinstance(schema.get("items"), Mapping):
        yield from _nodes(schema["items"], f"{path}.items")
    if isinstance(schema.get("additionalProperties"), Mapping):
        yield from _nodes(schema["additionalProperties"], f"{path}.additionalProperties")


def _environment(node: Mapping[str, Any], rule: Mapping[str, Any], declared: Callable[..., DeclType]) -> Environment:
    found = declared(node)
    old: DeclType | Type = optional_of(found.type) if rule.get("optionalOldSelf") else found
    return Environment(BEHAVIOUR, {"self": found, "oldSelf": old})


def _compile_text(environment: Environment, source: str, field: str) -> str | None:
    """The server's compile error of an expression; None if it compiles."""
    try:
        environment.compile(source, expected=BOOL if field == "rule" else STRING)
    except CompileError as error:
        text = _STAGES[error.stage].format(error)
        return f"messageExpression {text}" if field == "messageExpression" else text
    return None


def _visible(text: str) -> str:
    return re.sub(r"selfType\d+", "selfType1", text)


@needs_shared
@pytest.mark.parametrize("name", _names())
def test_compile_errors(name: str, declared: Callable[..., DeclType]) -> None:
    """Rules compile where the server took them, and fail with its text and position where it did not."""
    for step in _steps(name):
        schema = _definition(step)
        if schema is None:
            continue
        message = _message(step)
        refused = {(found["path"], found["at"], found["field"]): found["text"] for found in _COMPILE.finditer(message)}
        for path, node in _nodes(schema):
            for at, rule in enumerate(node["x-kubernetes-validations"]):
                if "not" in path or not rule["rule"].strip():
                    continue
                environment = _environment(node, rule, declared)
                for field in ("rule", "messageExpression"):
                    if rule.get(field) and "\n" not in rule[field]:
                        _compare(environment, rule[field], field, refused.get((path, str(at), field)), message)


def _compare(environment: Environment, source: str, field: str, wanted: str | None, message: str) -> None:
    found = _compile_text(environment, source, field)
    if wanted is None and found is not None:
        assert found.replace("messageExpression ", "") in _visible(message), source
    else:
        assert found == (None if wanted is None else _visible(wanted)), source


def _whole(step: Mapping[str, Any]) -> Mapping[str, Any]:
    """The recorded body; an accepted object has no message, which is as good as an empty one."""
    body: Mapping[str, Any] = step["expect"]["body"]
    return body if step["expect"]["status"] != 201 else {"message": ""}


def _message(step: Mapping[str, Any]) -> str:
    """The message of the answer; recorded patterns are read as the text that they match."""
    body = step["expect"].get("body")
    message = str(body.get("message") or "") if isinstance(body, Mapping) else ""
    if message.startswith("~"):
        message = re.sub(
            r"(?s)\\(.)", r"\1", message[2:].replace("selfType[0-9]+", "selfType1").replace("0x[0-9a-f]+", "nil")
        )
        message = message.removesuffix("$")
    return message


def _rules(schema: Mapping[str, Any], value: Any, path: str) -> Iterator[tuple[str, Mapping[str, Any], Any]]:
    """The nodes with rules that a value has parts for."""
    if value is None:
        return
    if schema.get("x-kubernetes-validations"):
        yield path, schema, value
    if isinstance(value, Mapping):
        for name, inner in schema.get("properties", {}).items():
            yield from _rules(inner, value.get(name), f"{path}.{name}".lstrip("."))
        if isinstance(schema.get("additionalProperties"), Mapping):
            for name, inner in value.items():
                yield from _rules(schema["additionalProperties"], inner, f"{path}[{name}]")
    elif isinstance(value, list) and "items" in schema:
        for at, inner in enumerate(value):
            yield from _rules(schema["items"], inner, f"{path}[{at}]")


def _verdict(
    rule: Mapping[str, Any], node: Mapping[str, Any], value: Any, declared: Callable[..., DeclType]
) -> str | None:
    """The reason for which the rule refuses a new value, in the server's words."""
    environment = _environment(node, rule, declared)
    bindings = {"self": value, "oldSelf": NONE}
    try:
        if environment.compile(rule["rule"]).evaluate(bindings, budget=CALL_LIMIT).value:
            return None
    except EvaluationError as error:
        return f"{error} evaluating rule: {rule['rule']}"
    except BudgetExceeded:
        return "budget"
    if rule.get("messageExpression"):
        try:
            text = environment.compile(rule["messageExpression"]).evaluate(bindings, budget=CALL_LIMIT).value
        except EvaluationError:
            text = ""
        if text.strip() and "\n" not in text:
            return str(text)
    return str(rule.get("message") or f"failed rule: {rule['rule']}")


@needs_shared
@pytest.mark.parametrize("name", _names())
def test_verdicts(name: str, declared: Callable[..., DeclType]) -> None:
    """Rules over new objects pass, or fail with the server's message."""
    schema: Mapping[str, Any] | None = None
    for step in _steps(name):
        if step.get("method") != "POST":
            continue
        found = _definition(step)
        if found is not None:
            schema = found if step["expect"]["status"] == 201 else schema
            continue
        body = json.loads(step["body"]) if isinstance(step["body"], str) else step["body"]
        if schema is None or not isinstance(step["expect"].get("body"), Mapping) or "message" not in _whole(step):
            continue
        body.pop("status", None)  # Creating drops it.
        message = _message(step).replace("<time>", "2023-01-01T00:00:00Z")
        if "were not checked" in message or "Duplicate value" in message:
            continue
        for path, node, value in _rules(schema, _defaulted(schema, body), ""):
            for rule in node["x-kubernetes-validations"]:
                if "oldSelf" in rule["rule"] and not rule.get("optionalOldSelf"):
                    continue
                wanted = f'{path}: Invalid value: "{node["type"]}": '
                verdict = _verdict(rule, node, value, declared)
                assert (verdict is None) == (wanted not in message), (path, verdict, message)
                assert verdict is None or f"{wanted}{verdict}" in message


def _defaulted(schema: Mapping[str, Any], value: Any) -> Any:
    """The value with defaults filled in, and nulls dropped where there is one or null is not allowed."""
    if not isinstance(value, Mapping):
        return value
    found = {}
    for name, inner in value.items():
        known = schema.get("properties", {}).get(name, {})
        if inner is not None or known.get("nullable"):
            found[name] = _defaulted(known, inner)
    for name, known in schema.get("properties", {}).items():
        if "default" in known:
            found.setdefault(name, known["default"])
    return found


@pytest.mark.slow
@needs_shared
def test_run_time_limits(declared: Callable[..., DeclType]) -> None:
    """Costs of single rules and of whole objects stay under the limits where the server let them pass."""
    steps = _steps("cel-cost-runtime-total")
    schema = _definition(steps[0])
    assert schema is not None
    for step in steps:
        if step.get("method") != "POST" or _definition(step) is not None:
            continue
        total = 0
        try:
            for _, node, value in _rules(schema, json.loads(step["body"]), ""):
                for rule in node["x-kubernetes-validations"]:
                    program = _environment(node, rule, declared).compile(rule["rule"])
                    total += program.evaluate({"self": value}, budget=CALL_LIMIT).cost
        except BudgetExceeded:
            total = 10**9
        assert (total <= 10_000_000) == (step["expect"]["status"] == 201)


_FACTOR = re.compile(
    r"(spec\.validation\.openAPIV3Schema\S*)\.x-kubernetes-validations\[(\d+)\]\.(rule|messageExpression): Forbidden: estimated "
    r"(?:rule|messageExpression) cost exceeds budget by factor of (more than 100|[\d.]+)x"
)


def _cardinality(schema: Mapping[str, Any], path: str, declared: Callable[..., DeclType]) -> int:
    """The number of values that the node at a path can have."""
    node, count = schema, 1
    for step in re.findall(r"properties\[([^\]]+)\]|\.(items)|\.(additionalProperties)", path):
        if step[0]:
            node = node["properties"][step[0]]
        else:
            count *= declared(node).max_elements
            node = node[step[1] or step[2]]
    return count


@needs_shared
@pytest.mark.parametrize("name", _names())
def test_estimated_costs(name: str, declared: Callable[..., DeclType]) -> None:
    """Estimates exceed the limit of a rule where the server refused it, and by the same factor."""
    for step in _steps(name):
        schema = _definition(step)
        if schema is None or "Syntax error" in _message(step) or step.get("compare") == "status":
            continue
        factors = {(path, at, field): text for path, at, field, text in _FACTOR.findall(_message(step))}
        if step["expect"]["status"] != 201 and not factors:
            continue
        for path, node in _nodes(schema):
            for at, rule in enumerate(node["x-kubernetes-validations"]):
                for field in ("rule", "messageExpression"):
                    if rule.get(field):
                        program = _environment(node, rule, declared).compile(rule[field])
                        cost = program.estimate()[1] * _cardinality(schema, path, declared)
                        assert _factor(cost) == factors.get((path, str(at), field))


def _factor(cost: int) -> str | None:
    ratio = cost / 10_000_000
    if ratio <= 1:
        return None
    return "more than 100" if ratio > 100 else f"{ratio:.1f}"


def test_names_are_escaped() -> None:
    """Properties whose names are no identifiers are spelled out, as the server spells them."""
    assert [escaped(name) for name in ("c.d", "e/f", "g__h", "namespace", "int", "a$", "a b")] == [
        "c__dot__d",
        "e__slash__f",
        "g__underscores__h",
        "__namespace__",
        "int",
        None,
        None,
    ]
