"""A stage that notes which of its own files run: ``python traced_stage.py MARK OUT STAGE ARGUMENT...``.

While there is a file MARK, the path of every file of code whose functions are called is written to OUT, once.
"""

from __future__ import annotations

import os
import sys
import threading
from types import FrameType
from typing import Any

MARK, OUT, STAGE = sys.argv[1:4]
seen: set[str] = set()


def note(frame: FrameType, event: str, _: Any) -> None:
    """Note the file of a function that is called."""
    name = frame.f_code.co_filename
    if event == "call" and name not in seen and os.path.exists(MARK):
        seen.add(name)
        with open(OUT, "a") as out:
            out.write(f"{name}\n")


program: dict[str, Any] = {"__name__": "stage"}
with open(os.path.join(STAGE, "__main__.py")) as text:
    exec(compile(text.read(), "__main__.py", "exec"), program)
threading.setprofile(note)
sys.setprofile(note)
program["main"](sys.argv[4:])
