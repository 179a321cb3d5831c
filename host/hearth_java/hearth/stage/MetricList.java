package hearth.stage;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/** Metrics as a list of objects: those of plugins and the MBeans that plugins register. */
final class MetricList {
    private static final int MOST = 10_000;
    private static final int MOST_TEXT = 1_000;
    private static final Set<String> OF_THE_JVM = Set.of(
        "JMImplementation", "com.sun.management", "java.lang", "java.nio", "java.util.logging", "jdk.management.jfr");
    private final ArrayNode list;

    MetricList(ArrayNode list) {
        this.list = list;
    }

    /** Adds a metric unless its value is no number, truth value or text; one that raises has no value. */
    void add(String group, String name, String description, Map<String, String> tags, Callable<Object> value) {
        if (list.size() >= MOST) {
            return;
        }
        Object found;
        try {
            found = value.call();
        } catch (Exception | LinkageError | StackOverflowError error) {
            found = null;
        }
        ObjectNode one = Frame.JSON.createObjectNode().put("group", group).put("name", name).put("description", cut(description));
        one.set("tags", Frame.JSON.valueToTree(tags));
        if (found == null || found instanceof Number number && !Double.isFinite(number.doubleValue())) {
            one.putNull("value");
        } else if (found instanceof Double || found instanceof Float) {
            one.put("value", ((Number) found).doubleValue());
        } else if (found instanceof Number number) {
            one.put("value", number.longValue());
        } else if (found instanceof Boolean truth) {
            one.put("value", truth);
        } else if (found instanceof String text) {
            one.put("value", cut(text));
        } else {
            return;
        }
        list.add(one);
    }

    private static String cut(String text) {
        return text == null ? "" : text.length() <= MOST_TEXT ? text : text.substring(0, MOST_TEXT);
    }

    /** Adds the attributes of all MBeans but the JVM's: the domain is the group, the keys of the name are the tags. */
    void addBeans() {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        for (ObjectName bean : server.queryNames(null, null)) {
            if (!OF_THE_JVM.contains(bean.getDomain())) {
                try {
                    for (MBeanAttributeInfo each : server.getMBeanInfo(bean).getAttributes()) {
                        if (each.isReadable()) {
                            Map<String, String> tags = new TreeMap<>(bean.getKeyPropertyList());
                            add(bean.getDomain(), each.getName(), each.getDescription(), tags, () -> server.getAttribute(bean, each.getName()));
                        }
                    }
                } catch (JMException | RuntimeException gone) {
                    // the plugin has just removed it
                }
            }
        }
    }
}
