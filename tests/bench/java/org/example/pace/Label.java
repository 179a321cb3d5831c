package org.example.pace;

import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.transforms.Transformation;

/** The transformation of the bundle `pace`, in Java. */
public class Label<R extends ConnectRecord<R>> implements Transformation<R> {
    @Override public ConfigDef config() { return new ConfigDef(); }
    @Override public void configure(Map<String, ?> configs) { }
    @Override public void close() { }

    @Override public R apply(R record) {
        return record.newRecord(
                record.topic(), record.kafkaPartition(), Schema.STRING_SCHEMA, "label",
                record.valueSchema(), record.value(), PaceSource.START);
    }
}
