"""Spark jobs, submitted asynchronously; one thread receives the results of all.

Spark's asynchronous actions return once a job is submitted. A completed job is put into a queue in the JVM, and one
thread takes from that queue: a running job needs no thread here or in the JVM.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from hearth_api import ConnectError

OnEnd = Callable[["list[Any]", "Exception | None"], None]
"""Called with the result of a job, or with the reason why it failed."""


class Submit(Protocol):
    """Submits a job with rows and returns at once; ``place`` is the preferred executor."""

    def __call__(self, rows: list[Any], on_end: OnEnd, place: str | None = None) -> None:
        """Submit a job."""


class JobFailed(ConnectError):
    """A job failed; the text is Spark's."""

    code = "spark.job"


class Jobs:
    """The running jobs of one JVM.

    ``on_end`` of a job is called once, on the thread of this object; if the JVM has exited, with the error of the
    failed call.
    """

    def __init__(self, jvm: Any) -> None:
        self._lock = threading.Lock()
        self._under_way: dict[str, Callable[[Any, Exception | None], None]] = {}
        self.submitted = 0
        """The number of jobs so far."""
        self._broken: Exception | None = None
        self._jvm = jvm
        self._actions = jvm.org.apache.spark.rdd.AsyncRDDActions
        self._as_java = jvm.scala.jdk.javaapi.FutureConverters.asJava
        self._ended = jvm.java.util.concurrent.LinkedBlockingQueue()
        self._note = _note_in(jvm, self._ended)
        threading.Thread(target=self._listen, name="spark-ends", daemon=True).start()

    def prepared(self, context: Any, function: Callable[[Iterable[Any]], Iterator[Any]]) -> Submit:
        """Return a function that submits jobs of one partition, which apply ``function`` to rows in an executor.

        Jobs belong to the job group of the submitting thread. What they have in common is created here: a pyspark RDD
        takes more than thirty JVM calls, a prepared job eleven.
        """
        from pyspark.core.rdd import RDD, _wrap_function

        rdd = RDD(context._jsc.emptyRDD(), context, context.serializer).mapPartitions(function)
        write, read = rdd._prev_jrdd_deserializer.serializer.dumps, rdd._jrdd_deserializer.serializer.loads
        wrapped = _wrap_function(context, rdd.func, rdd._prev_jrdd_deserializer, rdd._jrdd_deserializer)
        as_seq = self._jvm.scala.jdk.javaapi.CollectionConverters.asScala
        tag, as_rdd, as_list = rdd._prev_jrdd.classTag(), self._jvm.PythonRDD, self._jvm.java.util.List.of

        def data(rows: list[Any], place: str | None) -> Any:
            row = bytearray(write(rows))
            if place is None:
                return context._jsc.parallelize(as_list(row), 1).rdd()
            preferring = self._jvm.scala.Tuple2(row, as_seq(as_list(place)).toList())
            return context._jsc.sc().makeRDD(as_seq(as_list(preferring)).toList(), tag)

        def submit(rows: list[Any], on_end: OnEnd, place: str | None = None) -> None:
            action = self._actions(as_rdd(data(rows, place), wrapped, False, False), tag).collectAsync()
            self.watch(self._as_java(action), lambda found, error: on_end(_read(found, read), error))

        return submit

    def watch(self, future: Any, on_end: Callable[[Any, Exception | None], None]) -> None:
        """Call ``on_end`` with the unconverted result when a Java future completes."""
        with self._lock:
            if self._broken is not None:
                raise self._broken
            self.submitted += 1
            key = str(self.submitted)
            self._under_way[key] = on_end
        try:
            future.whenComplete(self._note(key))
        except Exception:
            with self._lock:
                is_pending = self._under_way.pop(key, None) is not None
            if is_pending:
                raise

    def _listen(self) -> None:
        from py4j.protocol import Py4JError

        while True:
            try:
                key, found, thrown = self._ended.take()
                failure = None if thrown is None else JobFailed(thrown.toString())
            except (Py4JError, OSError) as error:  # the JVM has exited or is exiting
                self._break(error)
                return
            self._end(key, found, failure)

    def _end(self, key: str, found: Any, error: Exception | None) -> None:
        with self._lock:
            on_end = self._under_way.pop(key)
        on_end(found, error)

    def _break(self, error: Exception) -> None:
        with self._lock:
            self._broken = error
            under_way, self._under_way = self._under_way, {}
        for on_end in under_way.values():
            on_end(None, error)


def _note_in(jvm: Any, queue: Any) -> Callable[[str], Any]:
    """Return a factory of a Java ``BiConsumer`` that puts a key, a result and an exception into a Java queue.

    It is composed of Java's method handles, so it needs neither a callback into Python nor a class of ours.
    """
    handles, method_type = jvm.java.lang.invoke.MethodHandles, jvm.java.lang.invoke.MethodType.methodType
    proxy = jvm.java.lang.invoke.MethodHandleProxies.asInterfaceInstance
    named = jvm.java.lang.Class.forName
    boolean, an_object, objects = jvm.java.lang.Boolean.TYPE, named("java.lang.Object"), named("[Ljava.lang.Object;")
    a_list, consumer = named("java.util.List"), named("java.util.function.BiConsumer")
    lookup = handles.publicLookup()
    add = lookup.bind(queue, "add", method_type(boolean, an_object)).asType(method_type(boolean, a_list))
    as_list = lookup.findStatic(named("java.util.Arrays"), "asList", method_type(a_list, objects))
    note = handles.filterReturnValue(as_list.asCollector(objects, 3), add)
    return lambda key: proxy(consumer, note.bindTo(key))


def _read(found: Any, read: Callable[[bytes], list[Any]]) -> list[Any]:
    """Return the rows of a Spark result, whose elements are batches of rows serialized by a Python worker."""
    if found is None:
        return []
    return [row for index in range(found.size()) for row in read(bytes(found.apply(index)))]
