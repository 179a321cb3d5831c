"""The HTTP API, the same to its clients as Kafka Connect's.

`app` puts the routes together; `connector` and `plugin` hold their answers, each a few lines over the herder. `body`
reads what clients send, as leniently and as strictly as Kafka Connect does; `error` is the one table from errors to
statuses. `header` adds what the worker's configuration wants in every answer, `listener` opens the sockets and
`server` serves them from a thread of its own.
"""
