"""The palette of Okabe and Ito, which colour-blind readers tell apart: the colours of figures and notebooks."""

from __future__ import annotations

from typing import Final

BLUE: Final = "#0072B2"
ORANGE: Final = "#E69F00"
VERMILION: Final = "#D55E00"
GREEN: Final = "#009E73"
SKY: Final = "#56B4E9"
PURPLE: Final = "#CC79A7"
GREY: Final = "#8C8C8C"
