"""The behaviour that tests ask for where the release does not matter."""

from __future__ import annotations

from typing import Final

from simkit.schema.behaviour import default_behaviour

BASE: Final = default_behaviour("1.30")
"""The behaviour of kube-apiserver 1.30."""
