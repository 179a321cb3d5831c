"""The HTTP API, the same to its clients as Kafka Connect's.

`app` puts the routes together; `connector_resource` and `plugin_resource` answer them, each in a few lines over the
herder. `body` reads what clients send, as leniently and as strictly as Kafka Connect does; `answer` holds the one
table from errors to statuses. `middleware` is what goes around every answer, `listener` opens the sockets and `server`
serves them from a thread of its own.
"""
