package org.example.ledger;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.source.SourceConnector;

/** Distributes the partitions among the tasks. */
public class LedgerSourceConnector extends SourceConnector {
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
        return LedgerSourceTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        int partitions = Integer.parseInt(props.get("ledger.partitions"));
        int count = Math.min(maxTasks, partitions);
        List<Map<String, String>> configs = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            List<String> share = new ArrayList<>();
            for (int partition = number; partition < partitions; partition += count) {
                share.add(String.valueOf(partition));
            }
            Map<String, String> config = new HashMap<>(props);
            config.put("ledger.task", String.valueOf(number));
            config.put("ledger.share", String.join(",", share));
            configs.add(config);
        }
        return configs;
    }

    @Override
    public void stop() {
    }
}
