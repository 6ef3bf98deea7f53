"""The type checker: finds the type of every node and the overloads of every call, and words errors as cel-go does.

cel-spec, doc/langdef.md, "Gradual Type Checking"; cel-go 0.17, checker/checker.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from simkit.language.cel.build import RESERVED
from simkit.language.cel.declarations import Function, Overload
from simkit.language.cel.errors import Issue
from simkit.language.cel.names import Local, Messages, Names, Variables
from simkit.language.cel.tree import (
    Bind,
    Call,
    Comprehension,
    Entry,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Node,
    Select,
    StructNode,
    qualified_name,
)
from simkit.language.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    ERROR,
    INT,
    NULL,
    STRING,
    UINT,
    HasFields,
    Substitutions,
    Type,
    applied,
    is_fieldless_message,
    is_open,
    is_optional,
    list_of,
    map_of,
    more_general,
    optional_of,
    parameter,
    unwrapped,
)
from simkit.language.cel.values import kind_of

_LITERALS: Final = {
    "bool": BOOL,
    "int": INT,
    "uint": UINT,
    "double": DOUBLE,
    "string": STRING,
    "bytes": BYTES,
    "null": NULL,
}


class Checker:
    """One pass over one expression.

    ``lenient`` leaves out the checks that a compiler may be told to skip: names and calls are only resolved. ``types``
    are the types of libraries that may be named, ``messages`` gives those of messages that may be made.
    ``keywords`` lets reserved words name fields.
    """

    def __init__(
        self,
        functions: Mapping[str, Function],
        variables: Variables,
        *,
        container: str = "",
        lenient: bool = False,
        types: Mapping[str, Type] = MappingProxyType({}),
        messages: Messages | None = None,
        keywords: bool = False,
    ) -> None:
        self.keywords = keywords
        self.functions, self.lenient = functions, lenient
        self._names = Names(variables, types, container=container, lenient=lenient, messages=messages)
        self.issues: list[Issue] = []
        self._known = Substitutions()
        self._fresh = 0
        self._seen: list[Node] = []

    def run(self, node: Node) -> Type:
        """Check the whole expression and settle the types of all its nodes."""
        self._check(node)
        for each in self._seen:
            each.type = self._known.apply(each.type, free_is_dyn=True)
        return node.type

    def _check(self, node: Node) -> Type:
        found: Type = _CHECKS[type(node)](self, node)
        node.type = found
        self._seen.append(node)
        return found

    def _report(self, node: Node, text: str) -> None:
        if not self.lenient:
            self.issues.append(Issue(node.position, text))

    def _mismatch(self, node: Node, wanted: Type, given: Type) -> None:
        self._report(node, f"expected type '{wanted}' but found '{given}'")

    def _variable(self) -> Type:
        self._fresh += 1
        return parameter(f"_var{self._fresh - 1}")

    def _undeclared(self, node: Node, name: str) -> Type:
        self._report(node, f"undeclared reference to '{name}' (in container '{self._names.container}')")
        return ERROR

    def _literal(self, node: Literal) -> Type:
        return _LITERALS[kind_of(node.value)]

    def _ident(self, node: Ident) -> Type:
        found = self._names.lookup(node, node.name)
        return found if found is not None else self._undeclared(node, node.name.lstrip("."))

    def _select(self, node: Select) -> Type:
        name = qualified_name(node)
        if name is not None and not self._names.is_local(name):
            found = self._names.lookup(node, name)
            if found is not None:
                return found
        operand = self._known.apply(self._check(node.operand))
        found = self._field(node, operand, node.field)
        return BOOL if node.test else found

    def _field(self, node: Node, operand: Type, field: str, *, optional: bool = False) -> Type:
        target = unwrapped(operand)
        found = ERROR
        if target.kind == "map":
            found = target.parameters[1]
        elif target.kind == "object":
            assert target.declared is not None
            known = target.declared.fields.get(field)
            if known is None and self.keywords and field in RESERVED:
                known = target.declared.fields.get(f"__{field}__")
                if known is not None and isinstance(node, Select):
                    node.field = f"__{field}__"
            if known is None:
                self._report(node, f"undefined field '{field}'")
            else:
                found = known[1].type
        elif target.kind == "param":
            self._known.assignable(DYN, target)
            found = DYN
        elif is_fieldless_message(target):
            self._report(node, f"unexpected failed resolution of '{target}'")
        else:
            if not is_open(target):
                self._report(node, f"type '{target}' does not support field selection")
            found = DYN
        return optional_of(found) if optional or is_optional(operand) else found

    def _call(self, node: Call) -> Type:
        if node.function == "_?._":
            operand = self._known.apply(self._check(node.arguments[0]))
            self._check(node.arguments[1])
            field = node.arguments[1]
            assert isinstance(field, Literal)
            return self._field(node, operand, field.value, optional=True)
        for argument in node.arguments:
            self._check(argument)
        if node.target is None:
            return self._plain_call(node)
        prefix = qualified_name(node.target)
        if prefix is not None:
            for name in self._names.candidates(f"{prefix}.{node.function}"):
                if name in self.functions:
                    node.function, node.target = name, None
                    return self._resolve(node, self.functions[name], node.arguments)
        self._check(node.target)
        function = self.functions.get(node.function)
        if function is None:
            return self._undeclared(node, node.function)
        return self._resolve(node, function, [node.target, *node.arguments])

    def _plain_call(self, node: Call) -> Type:
        for name in self._names.candidates(node.function):
            if name in self.functions:
                node.function = name
                return self._resolve(node, self.functions[name], node.arguments)
        return self._undeclared(node, node.function.lstrip("."))

    def _resolve(self, node: Call, function: Function, arguments: Sequence[Node]) -> Type:
        if self.lenient:
            node.reference = ()
            return DYN
        given = [argument.type for argument in arguments]
        if node.function in ("_&&_", "_||_"):
            return self._logical(node, given)
        member = node.target is not None
        chosen: list[Overload] = []
        result: Type | None = None
        for overload in function.overloads:
            if overload.member != member:
                continue
            wanted, returned = self._instance(overload)
            trial = self._known.copy()
            if not trial.all_assignable(wanted, given):
                continue
            self._known = trial
            chosen.append(overload)
            found = trial.apply(returned)
            if result is None:
                result = found
            elif result.kind != "dyn" and result != found:
                result = DYN
        node.reference = tuple(chosen)
        if result is None:
            types = [self._known.apply(each, free_is_dyn=True) for each in given]
            shown = applied(types, member=member)
            self._report(node, f"found no matching overload for '{node.function}' applied to '{shown}'")
            return ERROR
        return result

    def _logical(self, node: Call, given: Sequence[Type]) -> Type:
        result = BOOL
        for argument, found in zip(node.arguments, given):
            if not self._known.assignable(found, BOOL):
                self._mismatch(argument, BOOL, self._known.apply(found))
                result = ERROR
        node.reference = (self.functions[node.function].overloads[0],)
        return result

    def _instance(self, overload: Overload) -> tuple[Sequence[Type], Type]:
        """Argument and result types with fresh variables for the overload's parameters."""
        if not overload.parameters:
            return overload.arguments, overload.result
        fresh = Substitutions({name: self._variable() for name in sorted(overload.parameters)})
        return [fresh.apply(each) for each in overload.arguments], fresh.apply(overload.result)

    def _joined(self, node: Node, previous: Type | None, current: Type) -> Type:
        """The common type of these types; dyn if there is none."""
        if previous is None:
            return current
        return more_general(previous, current) if self._known.assignable(previous, current) else DYN

    def _element(self, node: Node, optional: bool) -> Type:
        found = self._check(node)
        if not optional:
            return found
        if not is_optional(found) and found.kind != "dyn":
            self._mismatch(node, optional_of(found), found)
        return unwrapped(found)

    def _list(self, node: ListNode) -> Type:
        found: Type | None = None
        for position, element in enumerate(node.elements):
            found = self._joined(element, found, self._element(element, position in node.optional))
        return list_of(found if found is not None else self._variable())

    def _map(self, node: MapNode) -> Type:
        keys: Type | None = None
        values: Type | None = None
        for entry in node.entries:
            keys = self._joined(entry.key, keys, self._check(entry.key))
            values = self._joined(entry.value, values, self._element(entry.value, entry.optional))
        if keys is None or values is None:
            return map_of(self._variable(), self._variable())
        return map_of(keys, values)

    def _struct(self, node: StructNode) -> Type:
        """The type of a message literal; the fields of an unknown message are not checked."""
        found = self._names.lookup(node, node.name)
        if found is None:
            return self._undeclared(node, node.name.lstrip("."))
        if found.kind != "type":
            self._report(node, f"'{found}' is not a type")
            return ERROR
        made = found.parameters[0]
        if made.declared is None:
            self._report(node, f"'{made}' is not a message type")
            return ERROR
        for entry in node.entries:
            self._message_field(entry, made.declared)
        return made

    def _message_field(self, entry: Entry, declared: HasFields) -> None:
        given = self._element(entry.value, entry.optional)
        known = declared.fields.get(entry.key)
        wanted = known[1].type if known is not None else Type("unspecified", "")
        if not self._known.assignable(wanted, given) and not self.lenient:
            shown = self._known.apply(given, free_is_dyn=True)
            text = f"expected type of field '{entry.key}' is '{wanted}' but provided type is '{shown}'"
            self.issues.append(Issue(entry.position, text))

    def _range(self, node: Node, *, keyed: bool) -> tuple[Type, Type]:
        """The types of a comprehension's variables: positions and elements; keys and values, or keys alone."""
        found = self._known.apply(self._check(node))
        if found.kind == "list":
            return INT, found.parameters[0]
        if found.kind == "map":
            return found.parameters[0], found.parameters[1 if keyed else 0]
        if is_open(found) or found.kind == "param":
            self._known.assignable(DYN, found)
            return DYN, DYN
        self._report(
            node, f"expression of type '{found}' cannot be range of a comprehension (must be list, map, or dynamic)"
        )
        return ERROR, ERROR

    def _comprehension(self, node: Comprehension) -> Type:
        key, element = self._range(node.source, keyed=bool(node.key))
        node.reference, scopes = Local(node.variable, element), len(self._names.locals)
        if node.key:
            node.key_reference = Local(node.key, key)
            self._names.locals.append(node.key_reference)
        self._names.locals.append(node.reference)
        condition = None if node.condition is None else self._check(node.condition)
        transform = None if node.transform is None else self._check(node.transform)
        del self._names.locals[scopes:]
        results = {"exists_one": INT, "filter": list_of(element)}
        result = BOOL if transform is None else list_of(transform)
        if node.macro == "filter":
            result = results["filter"]
        elif transform is not None and node.macro == "transformMap":
            result = map_of(key, transform)
        elif transform is not None and node.macro == "transformMapEntry":
            result = self._entries(node, transform)
        if condition is not None and not self._known.assignable(condition, BOOL):
            assert node.condition is not None
            found = self._known.apply(condition)
            if node.macro in ("all", "exists"):
                self._mismatch(node.condition, BOOL, found)
            else:
                kept = results.get(node.macro, result)
                types = [self._known.apply(each, free_is_dyn=True) for each in (found, kept, kept)]
                shown = applied(types, member=False)
                self._report(node, f"found no matching overload for '_?_:_' applied to '{shown}'")
        return result

    def _entries(self, node: Comprehension, found: Type) -> Type:
        """The type that transformMapEntry makes of maps of this type."""
        assert node.transform is not None
        if not is_open(found) and found.kind != "map":
            given = applied([map_of(DYN, DYN), found], member=False)
            self._report(node, f"found no matching overload for 'cel.@mapInsert' applied to '{given}'")
        return found if found.kind == "map" else map_of(DYN, DYN)

    def _bind(self, node: Bind) -> Type:
        local = Local(node.variable, self._check(node.value))
        node.reference = local
        self._names.locals.append(local)
        found = self._check(node.body)
        self._names.locals.pop()
        return found


_CHECKS: Final[Mapping[type, Any]] = {
    Literal: Checker._literal,
    Ident: Checker._ident,
    Select: Checker._select,
    Call: Checker._call,
    ListNode: Checker._list,
    MapNode: Checker._map,
    StructNode: Checker._struct,
    Comprehension: Checker._comprehension,
    Bind: Checker._bind,
}
