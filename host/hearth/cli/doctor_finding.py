"""The findings of `hearth doctor`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from hearth.cli.exit_code import ExitCode

PASS, WARN, FAIL = "pass", "warn", "fail"


@dataclass(frozen=True)
class DoctorFinding:
    """What a check found: its level, the fact, what to do, and the exit code if it is a failure."""

    check: str
    level: str
    fact: str
    remedy: str | None = None
    code: ExitCode = ExitCode.OK

    def to_json(self) -> dict[str, Any]:
        """Return the finding as --json shows it."""
        return {**asdict(self), "code": int(self.code)}
