"""Making bundles, checking them, and putting them into plugin.path.

``scaffold`` begins a project; ``project`` builds its wheel and gathers the wheels it needs, ``pack`` puts them with
a manifest and a ``bill_of_materials`` into one zip file (``zip_file``), ``sign`` adds who vouches for it. ``verify``
checks any bundle in an environment of its own, ``wholeness`` whether it is as it was packed; ``description`` asks
plugins for their versions and configuration definitions in a stage process and remembers the answers.
``bundle_source`` gets a bundle from wherever it is, a ``bundle_index`` among others; ``installed`` puts it into a
directory of plugin.path and takes it away again, ``difference`` says what that changes, ``audit`` whether all is still
as it was. Nothing is loaded here: who lists does not pack.
"""
