"""Spark's web UI, opened only after the first tasks have started."""

from __future__ import annotations

from typing import Any


def open_page(context: Any) -> str:
    """Open the web UI of a Spark that was started without it, and return its address.

    Spark itself creates the UI before it accepts the first task; its servlets took a third of the time to start the
    context. It is the same UI, but Spark does not know of it, so it ends only with the JVM.
    """
    jvm, spark = context._jvm, context._jsc.sc()
    security = jvm.org.apache.spark.SecurityManager
    usual_file = getattr(security, "$lessinit$greater$default$3")()
    page = jvm.org.apache.spark.ui.SparkUI.create(
        jvm.scala.Option.apply(spark),
        spark.statusStore(),
        spark.conf(),
        security(spark.conf(), jvm.scala.Option.empty(), usual_file),
        spark.appName(),
        "",
        spark.startTime(),
        spark.version(),
    )
    page.setAppId(spark.applicationId())
    page.bind()
    page.attachAllHandlers()
    return str(page.webUrl())
