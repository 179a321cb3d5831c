"""Java's regular expressions, which Kafka Connect's configurations use.

They are translated once to Python's, so matching runs at full speed: `expression` is the entry point, `syntax` holds
the grammar on top of `bracket` (classes) and `reader` (escapes), `charset` the named sets, `replacement` the
replacement of matches.
"""
