"""Plugins as the herder meets them: `directory` turns names and ranges of versions (`version`) into plugins and
their environments. `stage` is a process beside the host in which they are asked, by one tenant or several; `pool` has
one for each environment, and a `staged_connector` is an instance that lives there, or by itself if it does not behave.
"""
