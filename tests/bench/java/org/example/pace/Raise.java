package org.example.pace;

import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.transforms.Transformation;

/** The other transformation of the bundle `pace`, in Java. */
public class Raise<R extends ConnectRecord<R>> implements Transformation<R> {
    @Override public ConfigDef config() { return new ConfigDef(); }
    @Override public void configure(Map<String, ?> configs) { }
    @Override public void close() { }

    @Override public R apply(R record) {
        Struct value = (Struct) record.value();
        Struct inner = value.getStruct("inner");
        Struct raised = new Struct(PaceSource.INNER)
                .put("count", inner.getInt64("count") + 1).put("text", inner.getString("text"));
        Struct copy = new Struct(PaceSource.NESTED).put("id", value.getInt64("id")).put("inner", raised);
        return record.newRecord(
                record.topic(), record.kafkaPartition(), record.keySchema(), record.key(),
                PaceSource.NESTED, copy, record.timestamp());
    }
}
