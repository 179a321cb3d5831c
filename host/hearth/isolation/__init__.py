"""Builds the environments of bundles and runs stage processes in them.

``environment_store`` keeps one directory of packages per lock and interpreter, built by ``uv``: ``lock`` lists the
packages, ``interpreter`` chooses the Python, ``fingerprint`` checks that the directory is intact, and
``environment_inventory`` records who uses it. ``environment`` holds the command that starts a stage. ``stage`` calls
the plugins of a stage process, a Python one or another program, which was started (``stage_process``) or forked
(``forked_process``). Several tenants can share a stage (``shared_stage``), tasks included (``stage_tenant``). The host
never imports anything from a bundle (invariants 6 and 7).
"""
