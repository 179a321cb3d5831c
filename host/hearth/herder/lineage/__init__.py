"""Lineage by OpenLineage: each connector is a job, and a revision of its configuration that runs is a run of it.

`connector_runs` decides which events the states of connectors make, `dataset` names what a connector reads and writes,
and `emitter` hands events to OpenLineage's client on a thread of its own. A worker without `openlineage.` keys loads
none of it.
"""
