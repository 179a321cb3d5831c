package org.example.ledger;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.sink.SinkConnector;

/** Passes its configuration to every task. */
public class LedgerSinkConnector extends SinkConnector {
    private Map<String, String> props;

    @Override
    public String version() {
        return "1.0";
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef();
    }

    @Override
    public void start(Map<String, String> props) {
        this.props = props;
    }

    @Override
    public Class<? extends Task> taskClass() {
        return LedgerSinkTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        List<Map<String, String>> configs = new ArrayList<>();
        for (int number = 0; number < maxTasks; number++) {
            Map<String, String> config = new HashMap<>(props);
            config.put("ledger.task", String.valueOf(number));
            configs.add(config);
        }
        return configs;
    }

    @Override
    public void stop() {
    }
}
