"""Checks of an exercise that look at the cluster after an answer, or try to write an object into it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from simkit.analysis.rbac.subject import identity_of
from simkit.meta.errors import StatusError
from simkit.meta.objects import Object
from simkit.notebook.learner_code import run_learner_code
from simkit.notebook.verdict import Note

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster
    from simkit.meta.identity import Identity

SHOWN: Final = 4
"""Lines of a message after its first that are shown."""


@dataclass(frozen=True, slots=True)
class StateCheck:
    """A statement about the cluster after an answer. Make one with ``must_hold``."""

    text: str
    fault: Callable[[Cluster], str | None]
    hint: str = ""

    def note(self, trial: Cluster) -> Note:
        """The statement with what is wrong with it on a fork. An error, such as a missing object, makes it wrong."""
        outcome = run_learner_code(lambda: self.fault(trial))
        fault = "\n".join(outcome.errors) or outcome.value
        if not fault:
            return Note(True, self.text)
        return Note(False, f"not so: {self.text}", (*fault.splitlines(), *([self.hint] if self.hint else [])))


@dataclass(frozen=True, slots=True)
class WriteCheck:
    """An object that the server must accept or refuse. Make one with ``must_accept`` or ``must_refuse``."""

    text: str
    obj: Object
    accepted: bool = True
    hint: str = ""
    subject: str = ""
    """The writer; by default an administrator."""
    because: str = ""
    """A part of the message with which it must be refused."""

    def note(self, trial: Cluster) -> Note:
        """The outcome of writing the object on a fork of the fork."""
        fault = self._fault(self._refusal(trial.fork()))
        if not fault:
            return Note(True, f"{self.text}: {'accepted' if self.accepted else 'refused'}")
        return Note(False, self.text, (*fault.splitlines(), *([self.hint] if self.hint else [])))

    def _refusal(self, trial: Cluster) -> str:
        """The message with which the object is refused when it is created, or replaced where it is there already."""
        identity = identity_of(self.subject) if self.subject else None
        try:
            trial.create(self.obj, identity=identity)
        except StatusError as refusal:
            if refusal.reason != "AlreadyExists":
                return str(refusal)
            return self._refusal_of_update(trial, identity)
        return ""

    def _refusal_of_update(self, trial: Cluster, identity: Identity | None) -> str:
        try:
            trial.apply([self.obj], identity=identity)
        except StatusError as refusal:
            return str(refusal)
        return ""

    def _fault(self, message: str) -> str:
        if self.accepted:
            return f"it must be accepted, and was refused: {_shortened(message)}" if message else ""
        if not message:
            return "it must be refused, and was accepted"
        if self.because not in message:
            return f"it is refused, but for another reason than {self.because!r}: {_shortened(message)}"
        return ""


def _shortened(message: str) -> str:
    """The first lines of a message; a refusal to give rights away names every one of them in a line of its own."""
    first, *more = message.splitlines() or [""]
    left = [f"and {len(more) - SHOWN} lines more"] if len(more) > SHOWN else []
    return "\n".join([first, *more[:SHOWN], *left])


def must_hold(text: str, fault: Callable[[Cluster], str | None], *, hint: str = "") -> StateCheck:
    """A statement that must be true after an answer.

    Parameters
    ----------
    text
        The statement.
    fault
        A function of the changed fork. It gives back what is wrong, in words, and an empty text or None if nothing is.
    hint
        A hint for the learner when it is wrong.

    Returns
    -------
    StateCheck
        For the checks of an ``Exercise``.
    """
    return StateCheck(text, fault, hint)


def must_accept(text: str, obj: Object, *, hint: str = "", subject: str = "") -> WriteCheck:
    """An object that the server must accept after an answer; nothing is kept of it.

    Parameters
    ----------
    text
        The object in words.
    obj
        The object.
    hint
        A hint for the learner when it is refused.
    subject
        Who writes it (``user:ann``); by default an administrator.

    Returns
    -------
    WriteCheck
        For the checks of an ``Exercise``.
    """
    return WriteCheck(text, obj, hint=hint, subject=subject)


def must_refuse(text: str, obj: Object, *, because: str = "", hint: str = "", subject: str = "") -> WriteCheck:
    """An object that the server must refuse after an answer.

    Parameters
    ----------
    text, obj, hint, subject
        As for ``must_accept``.
    because
        A part of the message with which it must be refused.

    Returns
    -------
    WriteCheck
        For the checks of an ``Exercise``.
    """
    return WriteCheck(text, obj, accepted=False, hint=hint, subject=subject, because=because)
