"""HTTP basic authentication for a worker's REST API, like Kafka's `connect-basic-auth-extension`.

`extension` filters requests; `jaas` parses Java's login configuration; `login` evaluates it with the only supported
login module, users and passwords in a properties file.
"""
