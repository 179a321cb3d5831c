"""Environments of bundles, and the stage processes that run in them.

``environment`` keeps one directory of packages per lock and interpreter, built by ``uv`` (``lock`` says
what goes in, ``interpreter`` which Python, ``fingerprint`` whether one is whole). ``stage`` starts a
child process in such an environment and speaks with it; nothing of a bundle is ever imported on this side
(invariants 6 and 7).
"""
