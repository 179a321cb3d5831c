package hearth.stage.log;

import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/** The levels of loggers: a namespace sets the logger of its name and all whose names start with it. */
public final class Levels {
    private static volatile Map<String, Level> rules = Map.of();
    private static volatile Map<String, Level> known = new ConcurrentHashMap<>();

    private static final ThreadLocal<Boolean> OWN = ThreadLocal.withInitial(() -> false);

    private Levels() {
    }

    /** Makes something of the stage itself, not of its plugins, with nothing but warnings in the log. */
    public static <T> T quietly(Supplier<T> making) {
        OWN.set(true);
        try {
            return making.get();
        } finally {
            OWN.remove();
        }
    }

    /** Applies namespaces in order; unknown levels are ignored. */
    public static synchronized void set(Map<String, String> levels) {
        Map<String, Level> changed = new java.util.LinkedHashMap<>(rules);
        levels.forEach((name, text) -> {
            for (Level level : Level.values()) {
                if (level.name().equals(text)) {
                    String namespace = name.toLowerCase(Locale.ROOT).equals("root") ? "" : name;
                    changed.keySet().removeIf(each -> each.startsWith(namespace));
                    changed.put(namespace, level);
                }
            }
        });
        rules = changed;
        known = new ConcurrentHashMap<>();
    }

    static boolean isEnabled(String logger, Level level) {
        if (level.compareTo(Level.WARN) < 0 && OWN.get()) {
            return false;
        }
        return level.compareTo(known.computeIfAbsent(logger, Levels::of)) >= 0;
    }

    private static Level of(String logger) {
        Level found = Level.INFO;
        for (Map.Entry<String, Level> rule : rules.entrySet()) {
            if (logger.startsWith(rule.getKey())) {
                found = rule.getValue(); // later rules were set later
            }
        }
        return found;
    }
}
