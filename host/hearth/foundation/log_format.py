"""How the log looks: one line of text for each thing that is said, or one JSON object."""

from __future__ import annotations

import json
import logging
from datetime import datetime
from typing import TextIO

from hearth.foundation.log_context import label_of_record
from hearth.foundation.log_repeat import Repeats
from hearth.foundation.terminal import printable
from hearth_stage.log_call import LogLine


class TextFormat(logging.Formatter):
    """``[2026-01-31 14:05:09,123+0100] WARN [orders|task-0] what was said (logger)``, as Kafka Connect's with a zone.

    Further lines, a trace above all, follow as they are. Nothing in them can steer a terminal.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the text of a record."""
        line, label = LogLine.of(record), label_of_record(record)
        said, *rest = printable(line.text).split("\n")
        time = datetime.fromtimestamp(line.time).astimezone()
        stamp = f"{time:%Y-%m-%d %H:%M:%S},{time.microsecond // 1000:03}{time:%z}"
        about = f"[{_word(label)}] " if label else ""
        head = f"[{stamp}] {line.level} {about}{said} ({_word(line.logger)})"
        return "\n".join([head, *rest]).rstrip("\n")


def _word(text: str) -> str:
    return printable(text, keep="")


class JsonFormat(logging.Formatter):
    """A JSON object: ``time``, ``level``, ``logger``, ``message`` with its trace, and mostly ``context``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the object of a record in one line."""
        line, label = LogLine.of(record), label_of_record(record)
        shown = {
            "time": datetime.fromtimestamp(line.time).astimezone().isoformat(timespec="milliseconds"),
            "level": line.level,
            "logger": line.logger,
            **({"context": label} if label else {}),
            "message": line.text,
        }
        return json.dumps(shown, ensure_ascii=False)


FORMATS: dict[str, type[logging.Formatter]] = {"text": TextFormat, "json": JsonFormat}


def begin_log(stream: TextIO, format_: str = "text") -> None:
    """Let everything that is logged in this process go to a stream, from INFO on unless levels are set."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(FORMATS[format_]())
    handler.addFilter(_is_told)
    handler.addFilter(Repeats())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.captureWarnings(True)
    # A connection of py4j speaks when it is collected with a thread that is over, for which Python makes up
    # another one; 3.13 says at its end that it failed to forget that.
    logging.getLogger("py4j").setLevel(logging.WARNING)


def _is_told(record: logging.LogRecord) -> bool:
    """Leave out py4j's talk, which has passwords in it, and its tracebacks, which it raises as well.

    What uvicorn says of its start and its end is said by the host.
    """
    if record.module == "java_gateway":  # of py4j, which also speaks by the root logger
        return False
    return record.levelno >= logging.WARNING or record.name.split(".")[0] not in ("py4j", "uvicorn")
