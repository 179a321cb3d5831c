package hearth.stage;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.Config;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigValue;
import org.apache.kafka.connect.components.ConnectPlugin;
import org.apache.kafka.connect.connector.Connector;

/** Describes and validates any plugin before it is configured, in the form of Kafka Connect's REST entities. */
final class Definition {
    private Definition() {
    }

    static void describe(Plugins plugins, Request request, Answer answer) {
        Object plugin = plugins.create(request.text("reference"), request.args.path("type").textValue());
        ConfigDef definition = config(plugin);
        answer.args.put("version", Plugins.version(plugin));
        keys(answer.args.putArray("config"), definition == null ? new ConfigDef() : definition);
    }

    static void validate(Plugins plugins, Request request, Answer answer) {
        Object plugin = plugins.create(request.text("reference"), request.args.path("type").textValue());
        ConfigDef definition = config(plugin);
        if (definition == null) {
            answer.args.putNull("definitions").putNull("values");
            return;
        }
        String prefix = request.args.path("prefix").asText();
        List<ConfigValue> values;
        if (plugin instanceof Connector connector) {
            Config result = connector.validate(request.config());
            values = result == null ? null : result.configValues();
        } else {
            ConfigDef below = new ConfigDef();
            below.embed(prefix, "", 0, definition);
            values = below.validate(request.config());
        }
        keys(answer.args.putArray("definitions"), definition);
        if (values == null) {
            answer.args.putNull("values");
            return;
        }
        Map<String, ConfigDef.Type> types = new HashMap<>();
        definition.configKeys().forEach((name, key) -> types.put(prefix + name, key.type));
        ArrayNode list = answer.args.putArray("values");
        values.forEach(value -> value(list.addObject(), value, types.get(value.name())));
    }

    private static ConfigDef config(Object plugin) {
        return plugin instanceof ConnectPlugin described ? described.config() : null;
    }

    private static void keys(ArrayNode list, ConfigDef definition) {
        for (ConfigDef.ConfigKey key : definition.configKeys().values()) {
            ObjectNode info = list.addObject().put("name", key.name).put("type", key.type.name());
            info.put("required", !key.hasDefault());
            info.put("default_value", key.hasDefault() ? ConfigDef.convertToString(key.defaultValue, key.type) : null);
            info.put("importance", key.importance.name()).put("documentation", key.documentation).put("group", key.group);
            info.put("order_in_group", key.orderInGroup).put("width", key.width.name()).put("display_name", key.displayName);
            info.set("dependents", Frame.JSON.valueToTree(key.dependents));
        }
    }

    private static void value(ObjectNode info, ConfigValue value, ConfigDef.Type type) {
        ConfigDef.Type item = type == ConfigDef.Type.LIST ? ConfigDef.Type.STRING : type;
        info.put("name", value.name()).put("value", ConfigDef.convertToString(value.value(), type));
        ArrayNode recommended = info.putArray("recommended_values");
        value.recommendedValues().forEach(each -> recommended.add(ConfigDef.convertToString(each, item)));
        info.set("errors", Frame.JSON.valueToTree(value.errorMessages()));
        info.put("visible", value.visible());
    }
}
