package hearth.stage.data;

import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.sink.SinkRecord;

/** A sink record that knows the consumed record it was made of; so do its copies. */
public final class ConsumedRecord extends SinkRecord {
    private final ConsumedRecords consumed;
    private final int row;

    ConsumedRecord(
        String topic, int partition, Schema keySchema, Object key, Schema valueSchema, Object value, long offset, Long timestamp,
        TimestampType timestampType, Iterable<Header> headers, String originalTopic, Integer originalPartition, long originalOffset,
        ConsumedRecords consumed, int row
    ) {
        super(topic, partition, keySchema, key, valueSchema, value, offset, timestamp, timestampType, headers,
            originalTopic, originalPartition, originalOffset);
        this.consumed = consumed;
        this.row = row;
    }

    /** Returns the consumed record as a body, null if puts come without them. */
    public byte[] consumed() {
        return consumed == null ? null : consumed.body(row);
    }

    @Override
    public SinkRecord newRecord(
        String topic, Integer partition, Schema keySchema, Object key, Schema valueSchema, Object value, Long timestamp
    ) {
        return newRecord(topic, partition, keySchema, key, valueSchema, value, timestamp, headers().duplicate());
    }

    @Override
    public SinkRecord newRecord(
        String topic, Integer partition, Schema keySchema, Object key, Schema valueSchema, Object value, Long timestamp,
        Iterable<Header> headers
    ) {
        return new ConsumedRecord(topic, partition, keySchema, key, valueSchema, value, kafkaOffset(), timestamp, timestampType(),
            headers, originalTopic(), originalKafkaPartition(), originalKafkaOffset(), consumed, row);
    }
}
