"""The client of a running Connect cluster, Hearth's or Java's: it knows nothing but the REST API.

`client_context` says which cluster and how to reach it, `rest_client` sends requests, and `remote_cluster` turns
Kafka Connect's resources into values. On these stand `selection` (which connectors an action is about),
`change_plan` (what differs between files and the cluster), `rollout` (carries a plan out) and `waiting` (until
connectors are in a state). `connector_file` and `strimzi` read and write configurations. What only Hearth offers is
asked for by its path, and a worker of Java gets an error that says so.
"""
