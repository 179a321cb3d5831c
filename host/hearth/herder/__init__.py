"""The herder: decides what runs on this host, and knows how what runs is doing.

`herder` writes what users want to the store. `reconciler` hears of every change of the store and makes what runs of a
connector what the store says, on that connector's `queue`, as long as this host leads; `supervisor` is one connector
meanwhile: its `instance` and its tasks (`task`), each launched on Spark, and launched again when its
executor is lost. `planner` turns a configuration into what a task's run is told. `status` writes and reads what is
said of all of them; `task_link` is the host's end of the links to the runs. The folder `plugin` turns names into
plugins, environments and processes beside the host, the folder `validation` checks configurations.
"""
