"""Plugins as the herder meets them: `directory` turns names and ranges of versions (`version`) into plugins and
their environments, and in the processes of `stage` they are asked, and connectors live.
"""
