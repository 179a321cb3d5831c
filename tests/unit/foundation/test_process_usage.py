"""What a process uses."""

from __future__ import annotations

import time

from hearth.foundation.process_usage import process_usage


def test_usage_grows_with_what_is_done() -> None:
    """Processor time, memory and open files are those of this process."""
    before = process_usage()
    kept = bytearray(64 << 20)
    kept[::4096] = b"x" * len(kept[::4096])
    with open(__file__, "rb"):
        while time.process_time() < before.cpu_seconds + 0.02:
            pass
        after = process_usage()
    assert after.cpu_seconds > before.cpu_seconds
    assert after.resident_bytes > before.resident_bytes + (32 << 20)
    assert after.open_files > before.open_files
    assert after.most_files >= after.open_files
    assert before.started == after.started <= time.time()
