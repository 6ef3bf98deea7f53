"""The parts of panels: boxes, texts, fields, buttons, sections. The panel that holds them draws them all.

They are models without views of their own, so that a program needs nothing but anywidget to show a panel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from uuid import uuid4
from weakref import WeakValueDictionary

import ipywidgets
import traitlets

from simkit.meta.visible_text import html_text


class Part(ipywidgets.Widget):  # type: ignore[misc]
    """A part of a panel. ``kind`` says what draws it, ``look`` has classes of its style sheet."""

    kind = traitlets.Unicode().tag(sync=True)
    look = traitlets.Unicode().tag(sync=True)

    def static_html(self) -> str:
        """What it shows, for readers without a kernel."""
        return ""

    def _hear(self, event: str, callback: Callable[[], None]) -> None:
        """Call a function whenever the browser tells of an event, once fields have the values that it tells, too."""

        def heard(_: Part, content: Mapping[str, Any], __: Any) -> None:
            if content.get("event") == event:
                for key, value in content.get("values", ()):
                    if key in _FIELDS:
                        _FIELDS[key].value = value
                callback()

        self.on_msg(heard)


class Box(Part):
    """Parts below each other, or beside each other if ``look`` is ``sk-row``."""

    kind = traitlets.Unicode("box").tag(sync=True)
    children: Any = traitlets.Tuple().tag(sync=True, **ipywidgets.widget_serialization)

    def __init__(self, children: Sequence[Part], look: str = "") -> None:
        super().__init__(children=tuple(children), look=look)

    def static_html(self) -> str:
        """The parts one after the other."""
        return "".join(part.static_html() for part in self.children)


class Sections(Box):
    """Buttons of which one is pressed, and below them its section: the child that has its name."""

    kind = traitlets.Unicode("sections").tag(sync=True)
    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    chosen = traitlets.Unicode().tag(sync=True)

    def __init__(self, sections: Mapping[str, Part]) -> None:
        super().__init__(list(sections.values()))
        self.names, self.chosen = list(sections), next(iter(sections))

    def static_html(self) -> str:
        """The section that is shown."""
        return str(self.children[self.names.index(self.chosen)].static_html())


class Text(Part):
    """A text in HTML, made by the panel: names in it are escaped."""

    kind = traitlets.Unicode("text").tag(sync=True)
    value = traitlets.Unicode().tag(sync=True)

    def __init__(self, value: str = "") -> None:
        super().__init__(value=value)

    def static_html(self) -> str:
        """The text."""
        return str(self.value)


class Progress(Part):
    """A bar that shows how much of some work is done, or nothing."""

    kind = traitlets.Unicode("progress").tag(sync=True)
    value = traitlets.Int(0).tag(sync=True)
    max = traitlets.Int(1).tag(sync=True)
    hidden = traitlets.Bool(True).tag(sync=True)


class Field(Part):
    """A field with a label, of one line or of several, that may suggest values."""

    kind = traitlets.Unicode("field").tag(sync=True)
    value = traitlets.Unicode().tag(sync=True)
    label = traitlets.Unicode().tag(sync=True)
    placeholder = traitlets.Unicode().tag(sync=True)
    options = traitlets.Tuple().tag(sync=True)
    width = traitlets.Unicode("12em").tag(sync=True)
    lines = traitlets.Int(1).tag(sync=True)
    key = traitlets.Unicode().tag(sync=True)

    def __init__(self, label: str, value: str = "", **more: Any) -> None:
        super().__init__(label=label, value=value, key=uuid4().hex, **more)
        _FIELDS[self.key] = self

    def on_enter(self, button: Button) -> None:
        """Have Enter in the field click a button, unless the button is disabled."""
        self._hear("enter", lambda: None if button.disabled else button.click())

    def static_html(self) -> str:
        """The label with the value; nothing of an empty field."""
        return f"<p>{html_text(self.label)}: <code>{html_text(self.value)}</code></p>" if self.value else ""


_FIELDS: Final[WeakValueDictionary[str, Field]] = WeakValueDictionary()
"""The fields by their keys, under which the browser tells what was typed."""


class Button(Part):
    """A button; ``look`` is ``sk-action`` for the one that does what a panel is for, or ``sk-danger``."""

    kind = traitlets.Unicode("button").tag(sync=True)
    label = traitlets.Unicode().tag(sync=True)
    disabled = traitlets.Bool(False).tag(sync=True)

    def __init__(self, label: str, clicked: Callable[[], None], **more: Any) -> None:
        self.click = clicked
        super().__init__(label=label, **more)
        self._hear("click", lambda: self.click())
