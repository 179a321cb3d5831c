"""The driver: one SparkContext and the JVM behind it."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shlex
import subprocess
import sys
import threading
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hearth.foundation.class_archive import ClassArchive
from hearth.foundation.java import java_executable
from hearth.foundation.log_level import levels
from hearth.spark.address import silence_of
from hearth.spark.executor import run
from hearth.spark.gateway import ARGUMENTS, installed_spark, jvm_variables, start_jvm
from hearth.spark.host_archive import IMPORT_PATH as HOST_PATH
from hearth.spark.job import JobFailed, Jobs, Submit
from hearth.spark.spare_daemon import SpareDaemon, is_wanted
from hearth.spark.spark_log import JvmLevels
from hearth.spark.standalone_master import seek_admission
from hearth_api import ConnectError

log = logging.getLogger(__name__)

ENDING_SECONDS = 2
LOOK_SECONDS = 0.5
MOST_LINES = 12
_PY4J = re.compile(r"\AAn error occurred while calling .*\n: ")
_OPTIONS = "spark.driver.extraJavaOptions"
_VARIABLE = "spark.executorEnv."
_IMPORT_PATH = f"{_VARIABLE}PYTHONPATH"


class DriverFailed(ConnectError):
    """Spark did not start, for the reason given."""

    code = "environment.spark.start"


class Driver:
    """A driver, which is started once; it may be stopped while it starts, which takes seconds."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._jvm: subprocess.Popen[bytes] | None = None
        self._gateway: Any = None
        self._spare: SpareDaemon | None = None
        self.jobs: Jobs | None = None
        self._application: Mapping[str, str] | None = None
        """What the present context was begun with, beside what all are."""
        self.is_over = threading.Event()

    def prepare(self) -> None:
        """Start its JVM on the calling thread, which takes longer than all that follows; raises JvmEnded."""
        settings = self._settings
        os.environ["PYSPARK_PYTHON"] = executors_python(settings)
        os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        if is_local(settings):
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ["PYTHONPATH"] = os.pathsep.join(_import_path())
        options = f"{settings[_OPTIONS]} {shlex.join(driver_archive().options())}".strip()
        self._own = {_IMPORT_PATH: self._executors_path(), **settings, _OPTIONS: options}
        self._start_spare()
        try:
            self._gateway = start_jvm(self._own, self._keep)
        except BaseException:
            self._close_spare()
            raise
        import pyspark  # noqa: F401  # the JVM comes first, and starts beside this process

        _spare_numpy()

    def _start_spare(self) -> None:
        """Have what Spark forks its Python workers from load what they need, while the JVM starts."""
        if not is_wanted(self._own, os.environ.get("SPARK_HOME"), str(installed_spark())):
            return
        named = {key.removeprefix(_VARIABLE): text for key, text in self._own.items() if key.startswith(_VARIABLE)}
        variables = {**os.environ, **jvm_variables(), **named, "PYTHONUNBUFFERED": "YES"}  # as Spark sets it
        try:
            spare = SpareDaemon(executors_python(self._own), variables)
        except OSError:  # Spark says what is wrong, when it starts its own
            return
        with self._lock:
            self._spare = spare
        if self.is_over.is_set():
            self._close_spare()
        self._own |= {f"{_VARIABLE}{name}": text for name, text in spare.variables.items()}

    def _close_spare(self) -> None:
        """Want the spare no more; one that is Spark's daemon by now goes on."""
        with self._lock:
            spare, self._spare = self._spare, None
        if spare is not None:
            spare.close()

    def _executors_path(self) -> str:
        """Return where executors find modules: on this machine where this process does, installed or not.

        On others that leads nowhere, and to what was sent to them where they lack it.
        """
        own = os.environ["PYTHONPATH"]
        return own if is_local(self._settings) else os.pathsep.join((own, HOST_PATH))

    @property
    def is_prepared(self) -> bool:
        """Return whether there is a JVM for it."""
        return self._gateway is not None and self._jvm is not None and self._jvm.poll() is None

    @property
    def has_application(self) -> bool:
        """Return whether its cluster has taken it in."""
        return self.is_prepared and self._application is not None

    def start(self, settings: Mapping[str, str]) -> None:
        """Start it on the calling thread, with settings that were not known before; raises DriverFailed.

        Where it was started with the same it goes on as it is, and where with others these make way, in the same JVM.
        """
        if self.is_prepared and self._application == settings and not self._is_stopped():
            return
        if not self.is_prepared:
            self.prepare()
        from pyspark import SparkContext

        own, gateway = {**self._own, **settings}, self._gateway
        try:
            if self._application is not None:
                self.context.stop()
            jobs = self.jobs = self.jobs or self._opened(gateway.jvm, own["spark.master"])
            self.context: Any = SparkContext(
                conf=_configuration(gateway.jvm, {**self._unknown(), **settings}), gateway=gateway
            )
            self.run_task: Submit = jobs.prepared(self.context, run)
            if self._is_stopped():
                raise DriverFailed(f"spark.master={own['spark.master']} did not take it within a minute")
            self._application = dict(settings)
        except Exception as error:
            reason = reason_of(error)  # which py4j asks the JVM for, so while there is one
            self._end_jvm(ENDING_SECONDS)
            raise DriverFailed(reason) from error

    def _unknown(self) -> dict[str, str]:
        """Return the settings that its JVM may know otherwise, although it was started with them.

        Spark's script trims them, and puts before them what it finds in its arguments.
        """
        has_arguments = ARGUMENTS in os.environ
        return {key: text for key, text in self._own.items() if has_arguments or text != text.strip()}

    def _opened(self, jvm: Any, master: str) -> Jobs:
        """Return the jobs of a JVM that is new; raises NotAdmitted where its master refuses it."""
        seek_admission(jvm, master)
        self._levels = JvmLevels(jvm)
        levels.tell(self._levels)
        return Jobs(jvm)

    def await_master(self) -> None:
        """Wait until somebody answers where the master should be, or until this is stopped; says so once.

        Spark would give up after a minute.
        """
        master, is_told = self._settings["spark.master"], False
        while (reason := silence_of(master)) is not None and not self.is_over.wait(LOOK_SECONDS):
            if not is_told:
                log.error("nobody answers at spark.master=%s (%s); tasks wait until somebody does", master, reason)
            is_told = True

    def has_ended(self, failure: BaseException) -> bool:
        """Return whether the JVM is gone or Spark has stopped in it, which a call that failed makes one think."""
        from py4j.protocol import Py4JError, Py4JJavaError

        if isinstance(failure, (Py4JJavaError, JobFailed)):
            return self._is_stopped()
        if not isinstance(failure, (Py4JError, OSError)):
            return False
        assert self._jvm is not None, "a call that failed was made"
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._jvm.wait(ENDING_SECONDS)  # its connections end a moment before it does
        return self._jvm.poll() is not None

    def stop(self, grace: float = 5) -> None:
        """Stop Spark and its JVM, which has ``grace`` seconds to end; every task's process ends with it.

        One that is being started does not come up any more. Its JVM would wait for nothing to end it: it looks at its
        input only when it has been able to say where it listens.
        """
        with self._lock:
            self.is_over.set()
            has_jvm = self._jvm is not None
        self._close_spare()
        if not has_jvm:
            return
        with contextlib.suppress(Exception):
            self.context.cancelAllJobs()
        for _ in range(2):  # where the JVM is gone the first call fails half-way, and the second does the rest
            with contextlib.suppress(Exception), warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # the JVM may have crashed: that is why it is stopped
                self.context.stop()
        self._end_jvm(grace)

    def _is_stopped(self) -> bool:
        """Return whether Spark has stopped by itself: its master was away for too long, or has turned it out."""
        with contextlib.suppress(Exception):  # a JVM that is gone does not answer
            return bool(self.context._jsc.sc().isStopped())
        return False

    def _keep(self, jvm: subprocess.Popen[bytes]) -> None:
        """Take the JVM as soon as there is one, so that it can be ended before it can be spoken to."""
        with self._lock:
            self._jvm = jvm
            if self.is_over.is_set():
                jvm.kill()

    def _end_jvm(self, grace: float) -> None:
        self._close_spare()
        jvm = self._jvm
        assert jvm is not None, "it was started"
        from pyspark import SparkContext

        if SparkContext._gateway is not None:
            with contextlib.suppress(Exception):
                SparkContext._gateway.shutdown()
            SparkContext._gateway = SparkContext._jvm = None
        if jvm.stdin is not None:
            with contextlib.suppress(OSError):
                jvm.stdin.close()  # the JVM ends with its input
        try:
            jvm.wait(grace)
        except subprocess.TimeoutExpired:
            jvm.kill()
            jvm.wait()


def _configuration(jvm: Any, settings: Mapping[str, str]) -> Any:
    """Return the configuration with which its JVM was started, and these settings.

    pyspark reads all of it to find the variables of executors, in three calls of the JVM for each setting.
    """
    from pyspark import SparkConf

    configuration: Any = SparkConf(_jvm=jvm).setAll(list(settings.items()))
    named = configuration._jconf.getAllWithPrefix
    configuration.getAll = lambda: [(f"{_VARIABLE}{each._1()}", each._2()) for each in named(_VARIABLE)]
    return configuration


def driver_archive() -> ClassArchive:
    """Return the archive of the classes of a driver: of the Spark that is installed here, which is not imported."""
    return ClassArchive(java_executable(os.environ), [installed_spark() / "jars"])


def _spare_numpy() -> None:
    """Keep pyspark from asking of every argument of a JVM call whether it is numpy's: here none ever is.

    The question loads pyspark's test kit and with it numpy and pyarrow: 30 MB, and a third of a second of the start.
    """
    from pyspark.sql import types

    for name in ("NumpyScalarConverter", "NumpyArrayConverter"):
        if (converter := getattr(types, name, None)) is not None:
            converter.can_convert = lambda self, obj: False


def is_local(settings: Mapping[str, str]) -> bool:
    """Return whether executors run inside the driver's JVM."""
    return settings["spark.master"].startswith("local")


def executors_python(settings: Mapping[str, str]) -> str:
    """Return the interpreter in which tasks run."""
    return settings.get("spark.pyspark.python") or sys.executable


def reason_of(error: BaseException) -> str:
    """Return what went wrong in a few lines: what the JVM says, without the frames of its stacks."""
    text = _PY4J.sub("", str(error).partition("\nDriver stacktrace:")[0])
    lines = [line.strip() for line in text.splitlines()]
    said = [line for line in lines if line and not line.startswith(("at ", "... "))]
    return "\n".join(said[:MOST_LINES]) or type(error).__name__


def _import_path() -> list[str]:
    """Return what makes this process's own packages importable in Spark's Python workers."""
    import hearth
    import hearth_api

    own = dict.fromkeys(str(Path(str(each.__file__)).parent.parent) for each in (hearth, hearth_api))  # mostly one
    return [*own, *filter(None, [os.environ.get("PYTHONPATH")])]
