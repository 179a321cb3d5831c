"""Control groups of stages, in directories that simulate the kernel's, because few machines delegate them."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

import hearth.isolation.control_group as module
import hearth.isolation.enforcement as enforcement
from hearth.config.confinement_key import Confinement
from hearth.isolation.control_group import ControlGroup, delegated_group
from hearth.isolation.environment_store import python_environment
from hearth.isolation.interpreter import host
from hearth.isolation.stage import Stage, StageOverLimit
from hearth_stage.limit import Limits
from hearth_stage.plugin_call import Ping

LIMITS = Limits(memory_bytes=128 << 20, cpus=1.5)


class Machine:
    """The files that tell a process its group, and the files of the groups."""

    def __init__(self, root: Path, own: str = "/a.slice/hearth.service/host", mounted: str = "/") -> None:
        """Create a service whose processes are in a subgroup of the delegated group."""
        self.proc = root / "proc"
        self.delegated = root / "groups" / os.path.relpath("/a.slice/hearth.service", mounted)
        (self.delegated / "host").mkdir(parents=True)
        (self.proc / "self").mkdir(parents=True)
        (self.proc / "self/cgroup").write_text(f"4:memory:/old\n0::{own}\n")
        (self.proc / "self/mountinfo").write_text(
            "1 0 0:2 / /proc rw shared:1 - proc proc rw\n"
            f"2 1 0:3 {mounted} {root}/groups rw,nosuid - cgroup2 cgroup rw\n"
        )
        (self.delegated / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
        (self.delegated / "cgroup.procs").write_text("")
        os.setxattr(self.delegated, "user.delegate", b"1")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Create one; its groups are plain directories, which are not polled until they are empty."""
    monkeypatch.setattr(module, "TIMEOUT", 1)
    try:
        return Machine(tmp_path)
    except OSError:
        pytest.skip("the file system of the tests has no attributes")


def test_delegated_group_is_found(machine: Machine, tmp_path: Path) -> None:
    """Also if only a part of the hierarchy is mounted, as in a container."""
    assert delegated_group(machine.proc) == machine.delegated
    assert (machine.delegated / "cgroup.subtree_control").read_text() == "+cpu +memory"
    part = Machine(tmp_path / "part", mounted="/a.slice")
    assert delegated_group(part.proc) == part.delegated == tmp_path / "part/groups/hearth.service"


@pytest.mark.parametrize("lacks", ["delegated", "empty", "controllers", "mounted", "writable", "of version 2"])
def test_group_that_is_not_delegated_is_not_used(machine: Machine, lacks: str) -> None:
    """Root may write to all of them, but systemd forbids it."""
    if lacks == "delegated":
        os.removexattr(machine.delegated, "user.delegate")
    elif lacks == "empty":
        (machine.delegated / "cgroup.procs").write_text("1\n")
    elif lacks == "controllers":
        (machine.delegated / "cgroup.controllers").write_text("cpu pids\n")
    elif lacks == "mounted":
        (machine.proc / "self/mountinfo").write_text("1 0 0:2 / /proc rw shared:1 - proc proc rw\n")
    elif lacks == "writable":
        (machine.delegated / "cgroup.subtree_control").mkdir()
    else:
        (machine.proc / "self/cgroup").write_text("4:memory:/old\n")
    assert delegated_group(machine.proc) is None


def test_a_group_has_the_limits_of_its_stage(machine: Machine) -> None:
    """In the kernel's format; groups of killed processes are removed."""
    left = machine.delegated / "hearth-stage-0-1"
    left.mkdir()
    group = ControlGroup(machine.delegated, LIMITS)
    assert {each.name: each.read_text() for each in group.path.iterdir()} == {
        "memory.max": "134217728", "memory.swap.max": "0", "memory.oom.group": "1", "cpu.max": "150000 100000",
    }  # fmt: skip
    assert not left.exists()
    assert group.excess == ""
    (group.path / "memory.events").write_text("low 0\nmax 12\noom 1\noom_kill 0\n")
    assert group.excess == ""
    (group.path / "memory.events").write_text("low 0\nmax 12\noom 1\noom_kill 2\n")
    assert group.excess == "it used all of plugin.limits.memory.bytes=134217728"
    only = ControlGroup(machine.delegated, Limits(cpus=0.5))
    assert [each.name for each in only.path.iterdir()] == ["cpu.max"]


def test_stage_joins_its_group_before_its_hello(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A started and a forked one; if the kernel kills one for its memory, that is reported."""
    monkeypatch.setattr(enforcement, "delegated_group", lambda: machine.delegated)
    environment = python_environment("test", host(), (str(tmp_path),)).confined(Confinement(limits=LIMITS))
    stages = [Stage.start(environment, "test-0") for _ in range(2)]
    groups = sorted(machine.delegated.glob("hearth-stage-*"))
    assert [(each / "cgroup.procs").read_text() for each in groups] == ["0", "0"]
    (groups[0] / "memory.events").write_text("oom_kill 1\n")
    os.kill(stages[0].pid, signal.SIGKILL)
    with pytest.raises(StageOverLimit, match=r"was ended: it used all of plugin.limits.memory.bytes=134217728"):
        stages[0].call(Ping())
    stages[1].call(Ping())
    for each in stages:
        each.close()
    assert (groups[1] / "cgroup.kill").read_text() == "1"
