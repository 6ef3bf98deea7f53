"""Validation of objects by the CEL rules of their schema: every rule is evaluated on its part of the object.

All rules together have one budget for each object. A rule over a value that did not change does not refuse an update,
it warns; a rule that mentions ``oldSelf`` is asked where the old value can be found.

Follows ``k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from simkit.kinds.apiextensions.fieldpath import CompiledRule, compiled, declared_node
from simkit.language.cel.decl_types import DeclType
from simkit.language.cel.environment import CALL_LIMIT, BudgetExceeded, EvaluationError, Program
from simkit.language.cel.errors import MESSAGE_BYTES, OBJECT_BUDGET
from simkit.language.cel.values import NONE, Optional
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import OMITTED, FieldError, duplicate, forbidden_field, invalid_value, quoted, required
from simkit.schema.custom.messages import place, shown
from simkit.schema.custom.validation import ABSENT, key_of, keyed, same
from simkit.schema.structural import NO_DEFAULT, Schema

Warn = Callable[[str], None]
_OUT_OF_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"


class ValidationBudgetSpent(Exception):
    """The cost budget of an object is spent; no further rule is evaluated."""


@dataclass(slots=True)
class ValidationPass:
    """State of the validation of one object: remaining budget and errors."""

    budget: int
    errors: list[FieldError]
    warn: Warn

    def pay(self, cost: int, path: str, kind: str) -> None:
        if cost > self.budget:
            self.errors.append(invalid_value(place(path), kind, _OUT_OF_BUDGET))
            raise ValidationBudgetSpent
        self.budget -= cost


@dataclass(frozen=True, slots=True)
class OldValue:
    """The old value of a part of an object, as far as it can be found.

    ``same`` says whether the value, or the nearest one around it that had an old value, did not change.
    """

    value: Any
    known: bool
    unchanged: Callable[[], bool]


NEW: Final = OldValue(ABSENT, False, lambda: False)


class CelValidator:
    """Validator of the rules of a schema node and of all below it. Rules are compiled at first use."""

    def __init__(self, behaviour: ServedBehaviour, schema: Schema, *, root: bool = False) -> None:
        self._behaviour, self._schema, self._root = behaviour, schema, root or schema.embedded

    def errors(self, value: Any, old: Any = ABSENT, *, warn: Warn, budget: int = OBJECT_BUDGET) -> list[FieldError]:
        """The errors of the rules, in order. Errors for unchanged values become warnings."""
        asking = ValidationPass(budget, [], warn)
        self._begin(value, old, NEW if old is ABSENT else _known(value, old), asking)
        return asking.errors

    def refusals(self, value: Any, old: Any, budget: int) -> tuple[list[FieldError], int]:
        """The errors for changed and unchanged values, and the remaining budget (negative when spent).

        Nothing is warned of.
        """
        asking = ValidationPass(budget, [], lambda _: None)
        complete = self._begin(value, old, NEW, asking)
        return asking.errors, asking.budget if complete else -1

    def _begin(self, value: Any, old: Any, before: OldValue, asking: ValidationPass) -> bool:
        """True if all rules could be evaluated."""
        try:
            self._ask(value, "", old if old is not ABSENT else None, before, asking)
        except ValidationBudgetSpent:
            return False
        return True

    @cached_property
    def _declared(self) -> DeclType | None:
        return declared_node(self._schema, root=self._root)

    @cached_property
    def _compiled(self) -> Sequence[CompiledRule]:
        rules = self._schema.row.get("rules") or ()
        if self._declared is None:
            return ()
        return [compiled(self._behaviour, rule, self._schema, self._declared, stored=True) for rule in rules]

    def _ask(self, value: Any, path: str, old: Any, before: OldValue, asking: ValidationPass) -> None:
        if value is None:
            return
        self._ask_here(value, path, old, before, asking)
        if isinstance(value, dict):
            self._ask_fields(value, path, old if isinstance(old, dict) else {}, before, asking)
        elif isinstance(value, list):
            self._ask_items(value, path, old if isinstance(old, list) else [], before, asking)

    # Below

    @cached_property
    def _fields(self) -> Mapping[str, CelValidator]:
        return {
            name: CelValidator(self._behaviour, node) for name, node in self._schema.fields.items() if has_rules(node)
        }

    @cached_property
    def _values(self) -> CelValidator | None:
        values = self._schema.values
        return CelValidator(self._behaviour, values) if values is not None and has_rules(values) else None

    @cached_property
    def _items(self) -> CelValidator | None:
        items = self._schema.items
        return CelValidator(self._behaviour, items) if items is not None and has_rules(items) else None

    def _ask_fields(
        self, value: Mapping[str, Any], path: str, old: Mapping[str, Any], before: OldValue, asking: ValidationPass
    ) -> None:
        for name, item in value.items():
            below = self._fields.get(name)
            if below is not None:
                below._ask(item, f"{path}.{name}" if path else name, old.get(name), _key(before, name, item), asking)
            elif self._values is not None and name not in self._schema.fields:
                self._values._ask(item, f"{path}[{name}]", old.get(name), _key(before, name, item), asking)

    def _ask_items(self, value: list[Any], path: str, old: list[Any], before: OldValue, asking: ValidationPass) -> None:
        if self._items is None:
            return
        kind, keys = self._schema.list_type, self._schema.list_map_keys
        by_key = keyed(old, keys, self._key_defaults) if kind == "map" else {}
        for index, item in enumerate(value):
            earlier = by_key.get(key_of(item, keys, self._key_defaults)) if by_key else None
            below = _around(before) if earlier is None or not before.known else _known(item, earlier)
            self._items._ask(item, f"{path}[{index}]", earlier, below, asking)

    @cached_property
    def _key_defaults(self) -> Mapping[str, Any]:
        fields = self._schema.items.fields if self._schema.items is not None else {}
        return {name: node.default for name, node in fields.items() if node.default is not NO_DEFAULT}

    # Here

    def _ask_here(self, value: Any, path: str, old: Any, before: OldValue, asking: ValidationPass) -> None:
        if not self._compiled:
            return
        kind = self._schema.type
        if asking.budget <= 0:
            asking.errors.append(invalid_value(place(path), kind, _OUT_OF_BUDGET))
            raise ValidationBudgetSpent
        for each in self._compiled:
            if each.error:
                asking.errors.append(invalid_value(place(path), kind, f"rule compile error: {each.error}"))
            elif each.program is not None and (old is not None or each.optional_old or not each.uses_old):
                self._judge(each, value, path, old, before, asking)

    def _bindings(self, each: CompiledRule, value: Any, old: Any) -> dict[str, Any]:
        assert self._declared is not None
        found = {"self": value}
        if each.optional_old:
            found["oldSelf"] = NONE if old is None else Optional(True, self._declared.value(old))
        elif old is not None:
            found["oldSelf"] = old
        return found

    def _judge(
        self, each: CompiledRule, value: Any, path: str, old: Any, before: OldValue, asking: ValidationPass
    ) -> None:
        assert each.program is not None
        kind, bindings, text = self._schema.type, self._bindings(each, value, old), _told(each)
        try:
            verdict, cost = each.program.evaluate(bindings, budget=CALL_LIMIT)
        except BudgetExceeded as error:
            asking.pay(CALL_LIMIT, path, kind)
            told = f"'{error}': no further validation rules will be run due to call cost exceeds limit for rule: {text}"
            asking.errors.append(invalid_value(place(path), kind, told))
            raise ValidationBudgetSpent from None
        except EvaluationError as error:
            asking.pay(error.cost, path, kind)
            asking.errors.append(invalid_value(place(path), kind, _failed(error, text)))
            return
        asking.pay(cost, path, kind)
        if verdict is True:
            return
        where = ".".join(filter(None, (path, each.path)))
        found, stop = self._refusal(each, value, old, where, asking)
        if not each.uses_old and before.unchanged():
            asking.warn(found.told(self._behaviour))
        else:
            asking.errors.append(found)
        if stop:
            raise ValidationBudgetSpent

    def _refusal(
        self, each: CompiledRule, value: Any, old: Any, path: str, asking: ValidationPass
    ) -> tuple[FieldError, bool]:
        """The error of a rule that evaluates to false, and True if validation ends with it.

        A message sees no ``oldSelf`` that may be absent: one that asks for it fails, and the rule's text is told.
        """
        kind = self._schema.type
        if each.message is None:
            return _refused(each, path, self._told_value(value), _default_text(each)), False
        bindings = {"self": value} | ({"oldSelf": old} if old is not None else {})
        try:
            text, cost = _message(each.message, bindings)
        except BudgetExceeded:
            source = quoted(each.rule["messageExpression"])
            told = "no further validation rules will be run due to call cost exceeds limit for messageExpression"
            return invalid_value(place(path), kind, f"{told}: {source}"), True
        if cost > asking.budget:
            told = (
                "messageExpression evaluation failed due to running out of cost budget, "
                "no further validation rules will be run"
            )
            return invalid_value(place(path), kind, told), True
        asking.budget -= cost
        return _refused(each, path, self._told_value(value), text or _default_text(each)), False

    def _told_value(self, value: Any) -> Any:
        """The value in the error of a rule: its type, or the value itself if it is a simple one."""
        kind = self._schema.type
        if not self._behaviour.applies("refused-values-in-rules"):
            return kind
        return OMITTED if kind in ("object", "array") else shown(value)


def _message(program: Program, bindings: Mapping[str, Any]) -> tuple[str, int]:
    """The text of a message expression and its cost; an empty text if it fails or gives none that can be used."""
    try:
        value, cost = program.evaluate(bindings, budget=CALL_LIMIT)
    except EvaluationError as error:
        return "", error.cost
    text = value.strip() if isinstance(value, str) else ""
    return ("" if len(text.encode()) > MESSAGE_BYTES or "\n" in text else text), cost


def _failed(error: EvaluationError, rule: str) -> str:
    text = str(error)
    if text.startswith("no such overload"):
        return (
            f"'{text}': call arguments did not match a supported operator, function or macro signature for rule: {rule}"
        )
    return f"{text} evaluating rule: {rule}"


def _told(each: CompiledRule) -> str:
    """The message of a rule, or the rule itself."""
    return str(each.rule.get("message") or each.rule["rule"]).strip()


def _default_text(each: CompiledRule) -> str:
    message = each.rule.get("message") or ""
    return str(message).strip() if message else f"failed rule: {_told(each)}"


def _refused(each: CompiledRule, path: str, value: Any, text: str) -> FieldError:
    reason = each.rule.get("reason")
    if reason == "FieldValueForbidden":
        return forbidden_field(place(path), text)
    if reason == "FieldValueRequired":
        return required(place(path), text)
    if reason == "FieldValueDuplicate":
        return duplicate(place(path), value)
    return invalid_value(place(path), value, text)


# What was before


def _known(value: Any, old: Any) -> OldValue:
    answer: list[bool] = []

    def unchanged() -> bool:
        if not answer:
            answer.append(same(value, old))
        return answer[0]

    return OldValue(old, True, unchanged)


def _around(before: OldValue) -> OldValue:
    """The state of an old value that cannot be correlated itself."""
    return OldValue(ABSENT, False, before.unchanged) if before.known else before


def _key(before: OldValue, name: str, item: Any) -> OldValue:
    if before.known and isinstance(before.value, Mapping) and name in before.value:
        return _known(item, before.value[name])
    return _around(before)


def has_rules(schema: Schema) -> bool:
    """True if a node or anything below it has rules. Linear in the size of the schema."""
    if schema.name:
        return False
    return _row_has_rules(schema.row)


def _row_has_rules(row: Mapping[str, Any]) -> bool:
    if row.get("rules"):
        return True
    below = (*row.get("fields", {}).values(), row.get("items"), row.get("values"))
    return any(_row_has_rules(each) for each in below if each)
