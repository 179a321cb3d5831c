"""JSON answers."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import JSONResponse


class JsonAnswer(JSONResponse):
    """Data as JSON in UTF-8.

    A text that UTF-8 cannot hold (half of a surrogate pair, in the trace of a plugin, say) is written as an escape, as
    Java does: one odd text is not to keep anybody from reading all the others.
    """

    def render(self, content: Any) -> bytes:
        """Return the body."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")
