package hearth.stage;

import java.lang.reflect.InaccessibleObjectException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What users can do about errors that name the cause in the words of the JVM alone. */
final class Remedies {
    private static final int MOST_CAUSES = 20;
    private static final Pattern CLOSED = Pattern.compile("module (\\S+) does not \"opens (\\S+)\" to ");
    private static final Pattern HIDDEN = Pattern.compile("module (\\S+) does not export (\\S+) to ");

    private Remedies() {
    }

    /** Returns what helps against an error or one of its causes, an empty text if that is not known. */
    static String of(Throwable error) {
        Throwable cause = error;
        for (int number = 0; cause != null && number < MOST_CAUSES; number++, cause = cause.getCause()) {
            String found = cause instanceof InaccessibleObjectException ? option("opens", CLOSED, cause)
                : cause instanceof IllegalAccessError || cause instanceof IllegalAccessException ? option("exports", HIDDEN, cause) : "";
            if (!found.isEmpty()) {
                return found;
            }
        }
        return "";
    }

    private static String option(String what, Pattern pattern, Throwable error) {
        Matcher found = pattern.matcher(String.valueOf(error.getMessage()));
        return found.find() ? "set plugin.java.options=--add-" + what + "=" + found.group(1) + "/" + found.group(2) + "=ALL-UNNAMED" : "";
    }
}
