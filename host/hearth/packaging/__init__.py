"""Creates, verifies and installs bundles.

``scaffold`` creates a project. ``project`` builds its wheel and gathers the wheels it requires, ``pack`` writes them
with a manifest and a ``bill_of_materials`` to one zip file (``zip_file``), and ``sign`` adds a signature. ``verify``
checks a bundle in a separate environment, ``integrity`` checks that it is as packed, and ``description`` caches the
versions and configuration definitions that plugins return in a stage process. ``bundle_source`` obtains a bundle from
a file, an address or a ``bundle_index``; ``installed`` puts it into a directory of plugin.path and removes it,
``difference`` reports what an upgrade changes, and ``audit`` finds altered or revoked bundles. The package imports
none of its modules, so that listing bundles does not load what packing needs.
"""
