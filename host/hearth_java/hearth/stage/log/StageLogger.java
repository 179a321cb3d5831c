package hearth.stage.log;

import org.slf4j.Marker;
import org.slf4j.helpers.LegacyAbstractLogger;
import org.slf4j.helpers.MessageFormatter;

/** A logger of slf4j that writes to the stage's log. */
final class StageLogger extends LegacyAbstractLogger {
    private static final long serialVersionUID = 1L;

    StageLogger(String name) {
        this.name = name;
    }

    @Override
    public boolean isTraceEnabled() {
        return Levels.isEnabled(name, Level.TRACE);
    }

    @Override
    public boolean isDebugEnabled() {
        return Levels.isEnabled(name, Level.DEBUG);
    }

    @Override
    public boolean isInfoEnabled() {
        return Levels.isEnabled(name, Level.INFO);
    }

    @Override
    public boolean isWarnEnabled() {
        return Levels.isEnabled(name, Level.WARN);
    }

    @Override
    public boolean isErrorEnabled() {
        return Levels.isEnabled(name, Level.ERROR);
    }

    @Override
    protected String getFullyQualifiedCallerName() {
        return null;
    }

    @Override
    protected void handleNormalizedLoggingCall(org.slf4j.event.Level level, Marker marker, String text, Object[] arguments, Throwable error) {
        LogOutput.write(Level.valueOf(level.name()), name, MessageFormatter.basicArrayFormat(text, arguments), error);
    }
}
