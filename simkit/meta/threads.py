"""Whether there are threads: a browser's Python has none, and waits for what others do in the background."""

import sys
from typing import Final

HAS_THREADS: Final = sys.platform != "emscripten"
