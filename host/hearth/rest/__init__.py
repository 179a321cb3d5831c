"""The HTTP API, the same to its clients as Kafka Connect's.

`app` puts the endpoints together, each declared once (`endpoint`, with what travels in `entity`): by that it is
routed, and described for programs and readers (`openapi`). `connector_resource` and its like answer them, each in a
few lines over the herder. `body` reads what clients send, as leniently and as strictly as Kafka Connect does;
`answer` holds the one table from errors to statuses. `middleware` is what goes around every answer, `listener` opens
the sockets, with TLS where they are https (`tls_context`), and `server` serves them from a thread of its own.
"""
