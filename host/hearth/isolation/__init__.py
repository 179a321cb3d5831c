"""Environments of bundles, and the stage processes that run in them.

``environment_store`` keeps one directory of packages per lock and interpreter, built by ``uv`` (``lock`` says
what goes in, ``interpreter`` which Python, ``fingerprint`` whether one is whole, ``environment_inventory`` who
uses it), ``environment`` is what a task needs of one: by what command a stage of it is started. ``stage`` speaks with
a process that runs that command, be it Python's or another program's, which was started for it (``stage_process``) or
forked from one of its environment (``forked_process``). A stage may be shared (``shared_stage``), by tasks as well
(``stage_tenant``). Nothing of a bundle is ever imported on this side (invariants 6 and 7).
"""
