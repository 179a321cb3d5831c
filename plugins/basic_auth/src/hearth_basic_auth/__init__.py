"""HTTP basic authentication for a worker's REST API, as Kafka's `connect-basic-auth-extension` has it.

`extension` looks at every request; `jaas` reads the file by which Java's programs are told how users log in, and
`login` does what it says, with the one login module that there is: users and passwords in a file of properties.
"""
