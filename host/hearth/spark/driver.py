"""The driver: one SparkContext and its JVM."""

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
    """A driver that starts once; it may be stopped during the start, which takes seconds."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._jvm: subprocess.Popen[bytes] | None = None
        self._gateway: Any = None
        self._spare: SpareDaemon | None = None
        self.jobs: Jobs | None = None
        self._application: Mapping[str, str] | None = None
        """The settings of the present context in addition to those of the JVM."""
        self.is_over = threading.Event()

    def prepare(self) -> None:
        """Start the JVM on the calling thread, the slowest part of the start; raises JvmEnded."""
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
        import pyspark  # noqa: F401  # imported while the JVM starts

        _spare_numpy()

    def _start_spare(self) -> None:
        """Start a spare daemon, which preloads the modules of Python workers while the JVM starts."""
        if not is_wanted(self._own, os.environ.get("SPARK_HOME"), str(installed_spark())):
            return
        named = {key.removeprefix(_VARIABLE): text for key, text in self._own.items() if key.startswith(_VARIABLE)}
        variables = {**os.environ, **jvm_variables(), **named, "PYTHONUNBUFFERED": "YES"}  # as Spark sets it
        try:
            spare = SpareDaemon(executors_python(self._own), variables)
        except OSError:  # Spark reports the reason when it starts its own daemon
            return
        with self._lock:
            self._spare = spare
        if self.is_over.is_set():
            self._close_spare()
        self._own |= {f"{_VARIABLE}{name}": text for name, text in spare.variables.items()}

    def _close_spare(self) -> None:
        """Close the spare daemon; one that Spark already uses keeps running."""
        with self._lock:
            spare, self._spare = self._spare, None
        if spare is not None:
            spare.close()

    def _executors_path(self) -> str:
        """Return the PYTHONPATH of executors: on this machine that of this process.

        On other machines those directories do not exist, and the archive that was sent to them follows.
        """
        own = os.environ["PYTHONPATH"]
        return own if is_local(self._settings) else os.pathsep.join((own, HOST_PATH))

    @property
    def is_prepared(self) -> bool:
        """Return whether its JVM is running."""
        return self._gateway is not None and self._jvm is not None and self._jvm.poll() is None

    @property
    def has_application(self) -> bool:
        """Return whether it has an application on its cluster."""
        return self.is_prepared and self._application is not None

    def start(self, settings: Mapping[str, str]) -> None:
        """Start the context on the calling thread, with additional settings; raises DriverFailed.

        A context with the same settings stays; one with other settings is replaced in the same JVM.
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
                raise DriverFailed(
                    f"spark.master={own['spark.master']} did not register the application within a minute"
                )
            self._application = dict(settings)
        except Exception as error:
            reason = reason_of(error)  # before the JVM ends: py4j asks it for the text
            self._end_jvm(ENDING_SECONDS)
            raise DriverFailed(reason) from error

    def _unknown(self) -> dict[str, str]:
        """Return the settings that the JVM may have with other values, although it was started with them.

        Spark's script strips white space, and its arguments take precedence.
        """
        has_arguments = ARGUMENTS in os.environ
        return {key: text for key, text in self._own.items() if has_arguments or text != text.strip()}

    def _opened(self, jvm: Any, master: str) -> Jobs:
        """Return the jobs of a new JVM; raises NotAdmitted if the master refuses this host."""
        seek_admission(jvm, master)
        self._levels = JvmLevels(jvm)
        levels.subscribe(self._levels)
        return Jobs(jvm)

    def await_master(self) -> None:
        """Wait until the master answers or the driver is stopped; log an error once.

        Spark itself would give up after a minute.
        """
        master, is_reported = self._settings["spark.master"], False
        while (reason := silence_of(master)) is not None and not self.is_over.wait(LOOK_SECONDS):
            if not is_reported:
                log.error("spark.master=%s does not answer (%s); tasks wait until it does", master, reason)
            is_reported = True

    def has_ended(self, failure: BaseException) -> bool:
        """Return whether a failed call was caused by the end of the JVM or of Spark in it."""
        from py4j.protocol import Py4JError, Py4JJavaError

        if isinstance(failure, (Py4JJavaError, JobFailed)):
            return self._is_stopped()
        if not isinstance(failure, (Py4JError, OSError)):
            return False
        assert self._jvm is not None, "prepare sets it"
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._jvm.wait(ENDING_SECONDS)  # its connections close shortly before it exits
        return self._jvm.poll() is not None

    def stop(self, grace: float = 5) -> None:
        """Stop Spark and its JVM, which has ``grace`` seconds to exit; every task's process ends with it.

        A start in progress is abandoned and its JVM killed: until it has reported its port, it does not notice that
        its input is closed.
        """
        with self._lock:
            self.is_over.set()
            has_jvm = self._jvm is not None
        self._close_spare()
        if not has_jvm:
            return
        with contextlib.suppress(Exception):
            self.context.cancelAllJobs()
        for _ in range(2):  # if the JVM has exited, the first call fails half-way and the second one completes
            with contextlib.suppress(Exception), warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # the JVM may have crashed
                self.context.stop()
        self._end_jvm(grace)

    def _is_stopped(self) -> bool:
        """Return whether Spark has stopped itself: its master was unreachable too long or removed the application."""
        with contextlib.suppress(Exception):  # the JVM may have exited
            return bool(self.context._jsc.sc().isStopped())
        return False

    def _keep(self, jvm: subprocess.Popen[bytes]) -> None:
        """Keep the JVM's process, so that it can be killed before it has reported its port."""
        with self._lock:
            self._jvm = jvm
            if self.is_over.is_set():
                jvm.kill()

    def _end_jvm(self, grace: float) -> None:
        self._close_spare()
        jvm = self._jvm
        assert jvm is not None, "prepare sets it"
        from pyspark import SparkContext

        if SparkContext._gateway is not None:
            with contextlib.suppress(Exception):
                SparkContext._gateway.shutdown()
            SparkContext._gateway = SparkContext._jvm = None
        if jvm.stdin is not None:
            with contextlib.suppress(OSError):
                jvm.stdin.close()  # the JVM exits at the end of its input
        try:
            jvm.wait(grace)
        except subprocess.TimeoutExpired:
            jvm.kill()
            jvm.wait()


def _configuration(jvm: Any, settings: Mapping[str, str]) -> Any:
    """Return the configuration of the JVM with these settings added.

    To find the variables of executors, pyspark would read all of it, with three JVM calls for each setting.
    """
    from pyspark import SparkConf

    configuration: Any = SparkConf(_jvm=jvm).setAll(list(settings.items()))
    named = configuration._jconf.getAllWithPrefix
    configuration.getAll = lambda: [(f"{_VARIABLE}{each._1()}", each._2()) for each in named(_VARIABLE)]
    return configuration


def driver_archive() -> ClassArchive:
    """Return the class archive of the driver, for the installed Spark, without importing it."""
    return ClassArchive(java_executable(os.environ), [installed_spark() / "jars"])


def _spare_numpy() -> None:
    """Keep pyspark from testing every argument of a JVM call for a numpy type: none ever has one here.

    The test loads pyspark's test utilities and with them numpy and pyarrow: 30 MB and a third of a second.
    """
    from pyspark.sql import types

    for name in ("NumpyScalarConverter", "NumpyArrayConverter"):
        if (converter := getattr(types, name, None)) is not None:
            converter.can_convert = lambda self, obj: False


def is_local(settings: Mapping[str, str]) -> bool:
    """Return whether executors run inside the driver's JVM."""
    return settings["spark.master"].startswith("local")


def executors_python(settings: Mapping[str, str]) -> str:
    """Return the Python interpreter of executors."""
    return settings.get("spark.pyspark.python") or sys.executable


def reason_of(error: BaseException) -> str:
    """Return the reason of an error in a few lines: the JVM's message without its stack frames."""
    text = _PY4J.sub("", str(error).partition("\nDriver stacktrace:")[0])
    lines = [line.strip() for line in text.splitlines()]
    kept = [line for line in lines if line and not line.startswith(("at ", "... "))]
    return "\n".join(kept[:MOST_LINES]) or type(error).__name__


def _import_path() -> list[str]:
    """Return the import path that makes this process's packages importable in Spark's Python workers."""
    import hearth
    import hearth_api

    own = dict.fromkeys(str(Path(str(each.__file__)).parent.parent) for each in (hearth, hearth_api))  # usually equal
    return [*own, *filter(None, [os.environ.get("PYTHONPATH")])]
