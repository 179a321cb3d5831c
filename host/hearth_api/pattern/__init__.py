"""Regular expressions as Java writes them, which is how Kafka Connect's configurations write them.

They are translated into Python's own kind once, so matching runs at full speed: `expression` translates, `syntax`
holds the grammar on top of `bracket` (classes) and `reader` (escapes), `charset` the named sets, `replacement`
what replaces a match.
"""
