package sample;

import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** Polls forty records, one at a time, and then none. */
public final class DrippingSource extends SourceConnector {
    @Override
    public String version() {
        return "1";
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef();
    }

    @Override
    public void start(Map<String, String> config) {
    }

    @Override
    public void stop() {
    }

    @Override
    public Class<? extends Task> taskClass() {
        return DrippingTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int most) {
        return List.of(Map.of());
    }

    /** Ends with empty polls, or fails if it is told to. */
    public static final class DrippingTask extends SourceTask {
        private boolean fails;
        private int polls;

        @Override
        public String version() {
            return "1";
        }

        @Override
        public void start(Map<String, String> config) {
            fails = config.containsKey("fails");
        }

        @Override
        public List<SourceRecord> poll() throws InterruptedException {
            if (polls >= 40) {
                if (fails) {
                    throw new IllegalStateException("no more");
                }
                Thread.sleep(1);
                return null;
            }
            String value = "v" + polls++;
            return List.of(new SourceRecord(Map.of("name", "n"), Map.of("position", polls), "t", Schema.STRING_SCHEMA, value));
        }

        @Override
        public void stop() {
        }
    }
}
