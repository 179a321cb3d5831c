package hearth.stage;

import java.net.MalformedURLException;
import java.net.URL;
import java.nio.file.Path;
import java.sql.Driver;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import org.apache.kafka.common.config.provider.ConfigProvider;
import org.apache.kafka.connect.components.Versioned;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.runtime.isolation.PluginClassLoader;
import org.apache.kafka.connect.runtime.isolation.PluginUtils;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/** The plugins of one bundle, loaded by Kafka Connect's own class loader. */
final class Plugins {
    private static final Map<String, Class<?>> TYPES = Map.of(
        "source", SourceConnector.class, "sink", SinkConnector.class, "converter", Converter.class,
        "header_converter", HeaderConverter.class, "transformation", Transformation.class,
        "predicate", Predicate.class, "configprovider", ConfigProvider.class);
    private final ClassLoader loader;

    Plugins(Path location) throws Exception {
        List<Path> paths = PluginUtils.pluginUrls(location);
        Remedies.look(paths);
        URL[] urls = new URL[paths.size()];
        for (int index = 0; index < urls.length; index++) {
            urls[index] = url(paths.get(index));
        }
        loader = new PluginClassLoader(url(location), urls, Plugins.class.getClassLoader());
        if (((PluginClassLoader) loader).findResource("META-INF/services/" + Driver.class.getName()) != null) {
            loadDrivers();
        }
    }

    private static URL url(Path path) throws MalformedURLException {
        return path.toUri().toURL();
    }

    /** Loads the JDBC drivers of the bundle: {@code DriverManager} finds only those of its own loader. */
    private void loadDrivers() {
        Iterator<Driver> drivers = ServiceLoader.load(Driver.class, loader).iterator();
        try {
            while (drivers.hasNext()) {
                drivers.next();
            }
        } catch (Throwable error) {
            org.slf4j.LoggerFactory.getLogger(Plugins.class).debug("a JDBC driver of the bundle cannot be loaded", error);
        }
    }

    /** Makes the bundle's loader that of the current thread, as Kafka Connect does around each call of a plugin. */
    void enter() {
        Thread.currentThread().setContextClassLoader(loader);
    }

    /** Returns a new instance of a class. */
    Object create(String reference) {
        try {
            return loader.loadClass(reference).getDeclaredConstructor().newInstance();
        } catch (java.lang.reflect.InvocationTargetException error) {
            throw Plugins.<RuntimeException>raised(error.getCause());
        } catch (ReflectiveOperationException error) {
            throw new ConnectException("cannot load " + reference, error);
        }
    }

    /** Returns a new instance of a class that has a plugin type as in Kafka Connect's REST API; any type if it is null. */
    Object create(String reference, String type) {
        Object plugin = create(reference);
        Class<?> wanted = type == null ? null : TYPES.get(type);
        if (type != null && wanted == null) {
            throw new ConnectException("a Java stage does not run plugins of the type " + type + ": " + reference);
        }
        if (wanted != null && !wanted.isInstance(plugin)) {
            throw new ConnectException(reference + " is declared as " + type + " but is not a " + wanted.getSimpleName());
        }
        return plugin;
    }

    /** Returns a new task of a class that a connector names. */
    static Task task(Class<? extends Task> kind) {
        try {
            return kind.getDeclaredConstructor().newInstance();
        } catch (java.lang.reflect.InvocationTargetException error) {
            throw Plugins.<RuntimeException>raised(error.getCause());
        } catch (ReflectiveOperationException error) {
            throw new ConnectException("cannot create a task of " + kind.getName(), error);
        }
    }

    @SuppressWarnings("unchecked")
    static <E extends Throwable> E raised(Throwable error) throws E {
        throw (E) error;
    }

    /** Returns the version of a plugin, null if it has none. */
    static String version(Object plugin) {
        return plugin instanceof Task task ? task.version() : plugin instanceof Versioned versioned ? versioned.version() : null;
    }
}
