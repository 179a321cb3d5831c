"""The herder decides what runs on this host and tracks its state.

`herder` writes what users request to the store. While this host leads, `reconciler` is notified of every change in the
store and reconciles the connector on that connector's `queue`. `supervisor` manages one connector: its `instance` and
its tasks (`task`), which it launches on Spark and relaunches when an executor is lost. `planner` turns a configuration
into the plan that a task receives. `status` writes and reads statuses; `task_link` is the host's end of the links to
the tasks. The folder `plugin` resolves names to plugins, environments and child processes; the folder `validation`
checks configurations.
"""
