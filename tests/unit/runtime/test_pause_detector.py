"""Detection of suspended processes."""

from __future__ import annotations

from hearth.runtime.pause_detector import MOST_SECONDS, PauseDetector


def test_a_long_gap_requires_a_confirmation() -> None:
    """However often it looks from then on; and not again after ``end``."""
    now = [0.0]
    pause_detector = PauseDetector(lambda: now[0])
    for _ in range(3):
        now[0] += MOST_SECONDS
        assert not pause_detector.look()
    now[0] += MOST_SECONDS + 0.1
    assert [pause_detector.look(), pause_detector.look(), pause_detector.is_open] == [True] * 3
    pause_detector.end()
    assert not pause_detector.look()
