package sample;

import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.transforms.Transformation;

/** Drops "drop", fails on "bad", and fails twice on "later" before it succeeds. */
public final class Fickle<R extends ConnectRecord<R>> implements Transformation<R> {
    private int tries;

    @Override
    public ConfigDef config() {
        return new ConfigDef().define("count", ConfigDef.Type.INT, ConfigDef.Importance.HIGH, "how many");
    }

    @Override
    public void configure(Map<String, ?> configs) {
    }

    @Override
    public R apply(R record) {
        if ("drop".equals(record.value())) {
            return null;
        }
        if ("bad".equals(record.value())) {
            throw new DataException("a bad record");
        }
        if ("later".equals(record.value()) && ++tries < 3) {
            throw new RetriableException("not yet");
        }
        return record;
    }

    @Override
    public void close() {
    }
}
