"""The HTTP API, compatible with Kafka Connect's.

`app` assembles the endpoints. Each is declared once (`endpoint`, with the schemas of its bodies in `entity`), and the
declarations serve for routing and for the documentation (`openapi`). `connector_resource` and the other resources
implement them in a few lines over the herder. `body` reads requests as leniently and as strictly as Kafka Connect
does; `answer` has the table that maps errors to statuses. `middleware` wraps every response. `listener` opens the
sockets, with TLS for https (`tls_context`), and `server` serves them on its own thread.
"""
