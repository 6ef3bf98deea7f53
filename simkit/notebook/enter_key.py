"""Enter in a field of a panel does what its button does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ipywidgets as widgets


def press_on_enter(button: widgets.Button, *fields: widgets.Text) -> None:
    """Have Enter in one of the fields click the button, unless the button is disabled."""

    def hear(field: widgets.Text, content: Mapping[str, Any], buffers: Any) -> None:
        if content.get("event") == "submit" and not button.disabled:
            button.click()

    for field in fields:
        field.on_msg(hear)
