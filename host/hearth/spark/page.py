"""Spark's own page, which is opened after what a user waits for: his first task."""

from __future__ import annotations

from typing import Any


def open_page(context: Any) -> str:
    """Open the page of a Spark that was started without it, and return its address.

    Spark itself makes it before it takes the first task: most of its handlers are servlets, and that was a third of
    the time its context took. It is the same page; Spark does not know of it, so it ends with the JVM.
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
