"""Custom checks, written as expressions in the language of admission policies (CEL)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from simkit.analysis.escalation.table.severity import Severity
from simkit.analysis.findings.check import Check, Finding
from simkit.analysis.findings.survey import Survey
from simkit.analysis.model_file import model_of_file
from simkit.analysis.rbac.objects import RBAC, display_name, kind_of
from simkit.analysis.rbac.subject import normalize_subject, text_of
from simkit.language.cel.environment import Environment, Program, own_version
from simkit.language.cel.errors import CompileError, EvaluationError
from simkit.language.cel.types import BOOL, DYN, STRING
from simkit.logic.rbac.binding import Binding, Subject
from simkit.logic.rbac.rule import Rule
from simkit.meta.errors import SimkitError
from simkit.meta.names import Key
from simkit.meta.objects import annotations_of, labels_of
from simkit.schema.behaviour import OWN

Each = Literal["binding", "grant", "rule"]
VARIABLES: Final[Mapping[Each, tuple[str, ...]]] = {
    "binding": ("binding", "role", "subjects"),
    "grant": ("binding", "role", "subject"),
    "rule": ("binding", "role", "subject", "rule", "index"),
}
"""The variables that an expression may use, by the kind of thing that it is evaluated for."""


class CustomRule(BaseModel):
    """One check: an expression that is evaluated for each binding, each grant (binding and subject) or each rule of a
    grant.

    ``when`` is an expression that is true for a finding. It can use, as ``each`` has it:

    - ``binding``: kind, name, namespace (empty: cluster-wide), labels, annotations;
    - ``role``: kind, name, namespace, exists, and rules (as in ``rule``);
    - ``subject``: kind, name, namespace, and text (``sa:ns/name``); for bindings ``subjects``, a list of them;
    - ``rule``: verbs, apiGroups, resources, resourceNames, nonResourceURLs, always lists; and ``index``.

    ``message`` is an expression too, of a text; left out, the finding names its objects.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    title: str = Field(min_length=1)
    severity: Literal["info", "low", "medium", "high", "critical"] = "medium"
    each: Each = "grant"
    when: str = Field(min_length=1)
    message: str = ""
    why: str = ""
    fix: str = ""


class RuleFile(BaseModel):
    """A file of rules."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rules: tuple[CustomRule, ...] = Field(min_length=1)


def read_rules(path: str | Path) -> tuple[Check, ...]:
    """The checks in a YAML or JSON file, ready for ``audit(rules=...)``.

    Parameters
    ----------
    path
        A YAML or JSON file of rules.

    Returns
    -------
    tuple of Check
        The checks of the file, in order.

    Raises
    ------
    SimkitError
        Where the file cannot be read, an entry is wrong or an expression does not compile; it names the entry.

    Examples
    --------
    A file such as::

        rules:
        - id: people-in-payments
          title: People have no standing access to payments
          severity: high
          each: grant
          when: binding.namespace == 'payments' && subject.kind == 'User'
          message: subject.text + ' has ' + role.name + ' in payments'
        - id: no-wildcard-verbs
          title: Verbs are listed
          each: rule
          when: "'*' in rule.verbs && !binding.name.startsWith('system:')"
    """
    return tuple(check_of(rule) for rule in model_of_file(path, RuleFile).rules)


def check_of(rule: CustomRule) -> Check:
    """The check that a rule states. Raises SimkitError for expressions that do not compile.

    Examples
    --------
    >>> rule = CustomRule(id="no-users", title="Groups only", when="subject.kind == 'User'")
    >>> check_of(rule).severity.word
    'medium'
    """
    environment = Environment(OWN, dict.fromkeys(VARIABLES[rule.each], DYN), version=own_version(OWN))
    when = _compiled(environment, rule, "when", rule.when)
    message = _compiled(environment, rule, "message", rule.message) if rule.message else None
    compiled = _Compiled(rule, when, message)
    severity = Severity.named(rule.severity)
    return Check(rule.id, rule.title, severity, rule.why, rule.fix, compiled.find, RBAC)


def _compiled(environment: Environment, rule: CustomRule, field: str, source: str) -> Program:
    try:
        return environment.compile(source, expected=(BOOL, DYN) if field == "when" else (STRING, DYN))
    except CompileError as wrong:
        raise SimkitError(f"rule {rule.id!r}, {field}: {wrong}") from None


@dataclass(frozen=True, slots=True)
class _Compiled:
    rule: CustomRule
    when: Program
    message: Program | None

    def find(self, survey: Survey, check: Check) -> Iterator[Finding]:
        """A finding for each evaluation that gives true."""
        for binding in survey.bindings:
            shown = _binding(survey, binding), _role(survey, binding.role)
            for asked, subjects, numbers in self._asked(survey, binding):
                variables = {"binding": shown[0], "role": shown[1], **asked}
                if self._value(self.when, variables, bool):
                    yield check.finding(
                        self._told(variables, binding, subjects, numbers),
                        namespace=binding.namespace,
                        binding=binding.key,
                        role=binding.role,
                        rules=numbers,
                        subjects=subjects,
                    )

    def _asked(
        self, survey: Survey, binding: Binding
    ) -> Iterator[tuple[dict[str, Any], tuple[Subject, ...], tuple[int, ...]]]:
        """The variables of the expression, once for each evaluation on one binding."""
        subjects = tuple(map(normalize_subject, binding.subjects))
        if self.rule.each == "binding":
            yield {"subjects": [_subject(subject) for subject in subjects]}, subjects, ()
            return
        for subject in subjects:
            if self.rule.each == "grant":
                yield {"subject": _subject(subject)}, (subject,), ()
                continue
            for index, rule in enumerate(survey.rules(binding.role)):
                yield {"subject": _subject(subject), "rule": _rule(rule), "index": index}, (subject,), (index,)

    def _told(
        self, variables: Mapping[str, Any], binding: Binding, subjects: tuple[Subject, ...], numbers: tuple[int, ...]
    ) -> str:
        if self.message is not None:
            return str(self._value(self.message, variables, str))
        who = ", ".join(map(text_of, subjects)) or "nobody"
        what = f"rule {numbers[0]} of {display_name(binding.role)}" if numbers else display_name(binding.role)
        return f"{display_name(binding.key)} grants {what} to {who}."

    def _value(self, program: Program, variables: Mapping[str, Any], wanted: type) -> Any:
        try:
            value = program.evaluate(variables).value
        except EvaluationError as wrong:
            raise SimkitError(f"rule {self.rule.id!r}: {program.source}: {wrong}") from None
        if not isinstance(value, wanted):
            raise SimkitError(f"rule {self.rule.id!r}: {program.source} gives {value!r}, which is no {wanted.__name__}")
        return value


def _binding(survey: Survey, binding: Binding) -> dict[str, Any]:
    obj = survey.snapshot.get(binding.key.resource, binding.key.name, binding.key.namespace) or {}
    return {**_named(binding.key), "labels": dict(labels_of(obj)), "annotations": dict(annotations_of(obj))}


def _role(survey: Survey, key: Key) -> dict[str, Any]:
    rules = survey.index.rules(key)
    return {**_named(key), "exists": rules is not None, "rules": [_rule(rule) for rule in rules or ()]}


def _named(key: Key) -> dict[str, Any]:
    return {"kind": kind_of(key), "name": key.name, "namespace": key.namespace}


def _subject(subject: Subject) -> dict[str, str]:
    return {"kind": subject.kind, "name": subject.name, "namespace": subject.namespace, "text": text_of(subject)}


def _rule(rule: Rule) -> dict[str, list[str]]:
    return {
        "verbs": list(rule.verbs),
        "apiGroups": list(rule.api_groups),
        "resources": list(rule.resources),
        "resourceNames": list(rule.resource_names),
        "nonResourceURLs": list(rule.paths),
    }
