package hearth.stage;

import java.lang.reflect.InaccessibleObjectException;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What users can do about errors that name the cause in the words of the JVM alone. */
final class Remedies {
    private static final int MOST_CAUSES = 20;
    private static final Pattern CLOSED = Pattern.compile("module (\\S+) does not \"opens (\\S+)\" to ");
    private static final Pattern HIDDEN = Pattern.compile("module (\\S+) does not export (\\S+) to ");

    private static volatile PomDependencies dependencies = new PomDependencies(List.of());

    private Remedies() {
    }

    /** Sets the jars of the bundle, which name the artifacts that they need. */
    static void look(List<Path> jars) {
        dependencies = new PomDependencies(jars);
    }

    /** Returns what helps against an error or one of its causes, an empty text if that is not known. */
    static String of(Throwable error) {
        Throwable cause = error;
        for (int number = 0; cause != null && number < MOST_CAUSES; number++, cause = cause.getCause()) {
            String found = cause instanceof InaccessibleObjectException ? option("opens", CLOSED, cause)
                : cause instanceof IllegalAccessError || cause instanceof IllegalAccessException ? option("exports", HIDDEN, cause)
                : cause instanceof NoClassDefFoundError || cause instanceof ClassNotFoundException ? artifact(cause) : "";
            if (!found.isEmpty()) {
                return found;
            }
        }
        return "";
    }

    private static String artifact(Throwable error) {
        String className = String.valueOf(error.getMessage()).replace('/', '.');
        String found = dependencies.artifactOf(className);
        return found.isEmpty() ? "" : "put the jar of " + found + " into the bundle, whose pom names it";
    }

    private static String option(String what, Pattern pattern, Throwable error) {
        Matcher found = pattern.matcher(String.valueOf(error.getMessage()));
        return found.find() ? "set plugin.java.options=--add-" + what + "=" + found.group(1) + "/" + found.group(2) + "=ALL-UNNAMED" : "";
    }
}
