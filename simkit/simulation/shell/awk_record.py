"""The record that a program of awk looks at, and its fields."""

from __future__ import annotations

from typing import Final

from simkit.simulation.shell.awk_tokens import AwkError
from simkit.simulation.shell.awk_values import Given, Value, split, text_of
from simkit.simulation.shell.effects import Budget

_MOST_FIELDS: Final = 100_000


class Record:
    """A record with its fields, which are found when they are first asked for.

    Parameters
    ----------
    variables
        Those of the program: ``FS`` and ``OFS`` are heeded, and ``NF`` is set.
    """

    def __init__(self, variables: dict[str, Value], budget: Budget) -> None:
        self._variables, self._budget = variables, budget
        self.text, self._fields, self._split = "", list[str](), True

    def set(self, text: str) -> None:
        """Have another record. Raises TooMuch."""
        self.text, self._split = text, False
        self._budget.spend(len(text) + 1)

    def fields(self) -> list[str]:
        """The fields."""
        if not self._split:
            self._split = True
            self._fields = split(self.text, text_of(self._variables["FS"]))
            self._variables["NF"] = float(len(self._fields))
        return self._fields

    def field(self, number: int) -> Value:
        """A field; that of 0 is the whole record. Raises AwkError."""
        if number < 0:
            raise AwkError("trying to access out of range field")
        if not number:
            return Given(self.text)
        fields = self.fields()
        return Given(fields[number - 1]) if number <= len(fields) else None

    def set_field(self, number: int, text: str) -> None:
        """Change a field, and the record with it. Raises AwkError, and TooMuch."""
        if not number:
            self.set(text)
            return
        fields = self.fields()
        if not 0 < number <= _MOST_FIELDS:
            raise AwkError("trying to access out of range field")
        fields += [""] * (number - len(fields))
        fields[number - 1] = text
        self._join()

    def set_count(self, wanted: int) -> None:
        """Have another number of fields. Raises AwkError, and TooMuch."""
        fields = self.fields()
        if not 0 <= wanted <= _MOST_FIELDS:
            raise AwkError("NF set to a wrong value")
        self._fields = [*fields[:wanted], *[""] * (wanted - len(fields))]
        self._join()

    def _join(self) -> None:
        self._variables["NF"] = float(len(self._fields))
        self.text = text_of(self._variables["OFS"]).join(self._fields)
        self._budget.spend(len(self.text) + 1)
