"""Calls of librdkafka that send one message each, compiled, without the GIL."""

ctypedef void *(*ProduceVA)(void *client, void *units, size_t count) noexcept nogil


def produce_each(
    size_t function, size_t client, size_t units, size_t sizes, size_t returned, size_t width, size_t rows
):
    """Call ``rd_kafka_produceva`` for ``rows`` rows.

    The other arguments are addresses: of the function, the client, the units of the first row (those of the next
    follow after ``width`` bytes), the number of units per row, and the results.
    """
    cdef ProduceVA produce = <ProduceVA>function
    cdef size_t *size = <size_t *>sizes
    cdef void **error = <void **>returned
    cdef size_t row
    with nogil:
        for row in range(rows):
            error[row] = produce(<void *>client, <void *>(units + row * width), size[row])
