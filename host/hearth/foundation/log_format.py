"""The format of the log: a line of text or a JSON object per record."""

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
    """``[2026-01-31 14:05:09,123+0100] WARN [orders|task-0] message (logger)``: Kafka Connect's format with a zone.

    Further lines, such as a trace, follow unchanged, but terminal control characters are escaped.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the text of a record."""
        line, label = LogLine.of(record), label_of_record(record)
        message, *rest = printable(line.text).split("\n")
        time = datetime.fromtimestamp(line.time).astimezone()
        stamp = f"{time:%Y-%m-%d %H:%M:%S},{time.microsecond // 1000:03}{time:%z}"
        about = f"[{_word(label)}] " if label else ""
        head = f"[{stamp}] {line.level} {about}{message} ({_word(line.logger)})"
        return "\n".join([head, *rest]).rstrip("\n")


def _word(text: str) -> str:
    return printable(text, keep="")


class JsonFormat(logging.Formatter):
    """A JSON object with ``time``, ``level``, ``logger``, ``message`` including its trace, and ``context`` if any."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the object of a record on one line."""
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
    """Log everything in this process to a stream, from INFO on unless levels are set."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(FORMATS[format_]())
    handler.addFilter(is_shown)
    handler.addFilter(Repeats())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.captureWarnings(True)
    # A py4j connection logs when it is collected together with its ended thread, for which Python creates a dummy
    # thread; Python 3.13 reports at exit that it could not delete that.
    logging.getLogger("py4j").setLevel(logging.WARNING)


def is_shown(record: logging.LogRecord) -> bool:
    """Drop py4j's messages, which contain passwords, and its tracebacks, which it raises as well.

    Also drop uvicorn's messages about its start and end, which the host logs itself.
    """
    if record.module == "java_gateway":  # py4j also logs with the root logger
        return False
    return record.levelno >= logging.WARNING or record.name.split(".")[0] not in ("py4j", "uvicorn")
