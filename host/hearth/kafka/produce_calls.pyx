"""Calls of librdkafka that hand over one message each, made without the interpreter and without its lock."""

ctypedef void *(*ProduceVA)(void *client, void *units, size_t count) noexcept nogil


def produce_each(
    size_t function, size_t client, size_t units, size_t sizes, size_t returned, size_t width, size_t rows
):
    """Call ``rd_kafka_produceva`` for so many rows.

    All others are addresses: of the function, the client, the units of the first row, with those of the next ``width``
    bytes behind, how many units each row has, and where to keep what each call returns.
    """
    cdef ProduceVA produce = <ProduceVA>function
    cdef size_t *size = <size_t *>sizes
    cdef void **error = <void **>returned
    cdef size_t row
    with nogil:
        for row in range(rows):
            error[row] = produce(<void *>client, <void *>(units + row * width), size[row])
