"""The colours of everything that simkit draws: figures, notebooks, reports and the site take theirs from here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# The palette of Okabe and Ito, which colour-blind readers tell apart.
BLUE: Final = "#0072B2"
ORANGE: Final = "#E69F00"
VERMILION: Final = "#D55E00"
GREEN: Final = "#009E73"
SKY: Final = "#56B4E9"
PURPLE: Final = "#CC79A7"
YELLOW: Final = "#F0E442"
GREY: Final = "#8C8C8C"

SEVERITIES: Final[Mapping[str, str]] = {
    "critical": "#8E1537",
    "high": "#B34700",
    "medium": "#8A6100",
    "low": "#00658F",
    "info": "#59636E",
}
"""The grounds of severities. White text on any of them has a contrast of at least 4.5 to 1."""

TOKENS: Final[Mapping[str, tuple[str, str]]] = {
    "ink": ("#1F2328", "#E6EDF3"),
    "soft": ("#59636E", "#9AA4AF"),
    "line": ("#D1D9E0", "#3A424B"),
    "band": ("#F6F8FA", "#171C23"),
    "paper": ("#FFFFFF", "#0D1117"),
    "link": ("#0A5EA8", "#6CB6FF"),
    "action": ("#0A5EA8", "#1F6FB2"),
    "good": ("#005F45", "#3FC79A"),
    "bad": ("#933A00", "#FF9A62"),
    "warn": ("#7A4F00", "#E3B341"),
    **{name: (colour, colour) for name, colour in SEVERITIES.items()},
    "critical": (SEVERITIES["critical"], "#B3204D"),
    "high": (SEVERITIES["high"], "#B85412"),
    **{
        name: (colour, colour)
        for name, colour in {
            "blue": BLUE,
            "orange": ORANGE,
            "vermilion": VERMILION,
            "green": GREEN,
            "sky": SKY,
            "purple": PURPLE,
            "yellow": YELLOW,
            "grey": GREY,
        }.items()
    },
}
"""The colours of pages by name, on light and on dark paper. In style sheets they are ``--sk-ink`` and so on."""
