"""The herder: decides what runs on this host, and knows how what runs is doing.

`herder` is the front: what users ask of a connector goes onto that connector's `lane` and happens in order.
`lifecycle` carries it out. `connector` is one connector's instance; `crew` holds the tasks and `task` one of them,
launched on Spark, launched again when its executor is lost. `pipeline` turns a configuration into what a task's run
is told. `status` writes and reads what is said of all of them; `seat` is the host's end of the links to the runs.
The folder `plugin` turns names into plugins, environments and processes beside the host, the folder `validation`
checks configurations.
"""
