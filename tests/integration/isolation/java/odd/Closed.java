package odd;

import java.lang.reflect.Field;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.Transformation;

/** Looks into a class of Java that is closed to others, as older libraries do. */
public final class Closed<R extends ConnectRecord<R>> implements Transformation<R> {
    @Override
    public ConfigDef config() {
        try {
            Field value = String.class.getDeclaredField("value");
            value.setAccessible(true);
        } catch (NoSuchFieldException error) {
            throw new AssertionError(error);
        }
        return new ConfigDef().define("heap", ConfigDef.Type.LONG, Runtime.getRuntime().maxMemory(), ConfigDef.Importance.LOW, "");
    }

    @Override
    public void configure(Map<String, ?> configs) {
    }

    @Override
    public R apply(R record) {
        return record;
    }

    @Override
    public void close() {
    }
}
