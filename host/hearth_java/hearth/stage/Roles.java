package hearth.stage;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;
import org.slf4j.LoggerFactory;

/** The loaded converters, transformations and predicates of one task, by role. */
final class Roles {
    private record Loaded(Object plugin, String className) {
    }

    private final Map<String, Loaded> loaded = new LinkedHashMap<>();
    private final Plugins plugins;
    private final PluginRegistry registry;

    Roles(Plugins plugins, PluginRegistry registry) {
        this.plugins = plugins;
        this.registry = registry;
    }

    /** Creates and configures the plugin of a role; returns its version. */
    String load(String role, String className, String reference, Map<String, String> config) {
        Object plugin = plugins.create(reference);
        if (plugin instanceof Converter converter && !role.equals("header.converter")) {
            converter.configure(config, role.equals("key.converter"));
        } else if (plugin instanceof HeaderConverter converter && role.equals("header.converter")) {
            Map<String, Object> own = new HashMap<>(config);
            own.put("converter.type", "header");
            converter.configure(own);
        } else {
            ((Configurable) plugin).configure(config);
        }
        registry.monitor(plugin, role);
        loaded.put(role, new Loaded(plugin, className));
        return Plugins.version(plugin);
    }

    @SuppressWarnings("unchecked")
    <T> T plugin(String role) {
        return (T) found(role).plugin;
    }

    String className(String role) {
        return found(role).className;
    }

    private Loaded found(String role) {
        Loaded one = loaded.get(role);
        if (one == null) {
            throw new IllegalArgumentException("no plugin is loaded for the role " + role);
        }
        return one;
    }

    boolean hasConverters() {
        return loaded.keySet().stream().anyMatch(role -> role.endsWith(".converter"));
    }

    /** Closes every plugin, whatever another one raises. */
    void close() {
        for (Loaded one : loaded.values()) {
            try {
                if (one.plugin instanceof AutoCloseable closeable) {
                    closeable.close();
                }
            } catch (Throwable error) {
                LoggerFactory.getLogger(Roles.class).error("closing {} failed", one.className, error);
            }
        }
        loaded.clear();
    }
}
