package org.example.pace;

import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.transforms.Transformation;

/** The transformation of the bundle `pace` that refuses one in ten records, in Java. */
public class Refuse<R extends ConnectRecord<R>> implements Transformation<R> {
    private long count;

    @Override public ConfigDef config() { return new ConfigDef(); }
    @Override public void configure(Map<String, ?> configs) { }
    @Override public void close() { }

    @Override public R apply(R record) {
        if (++count % 10 == 0) throw new DataException("refused: " + count);
        return record;
    }
}
