package hearth.stage.log;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import hearth.stage.Tenancy;
import java.io.FileOutputStream;
import java.io.FileDescriptor;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.logging.Handler;
import java.util.logging.LogManager;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** The log of a stage: all that its plugins log or print goes to the error output, each line at once. */
public final class LogOutput {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final OutputStream OUT = new FileOutputStream(FileDescriptor.err);
    private static final int MOST = 65_536;

    private LogOutput() {
    }

    /** Directs printed text and java.util.logging to the log. */
    public static void begin() {
        System.setOut(printed("stdout", Level.INFO));
        System.setErr(printed("stderr", Level.WARN));
        LogManager.getLogManager().reset();
        Logger root = Logger.getLogger("");
        root.setLevel(java.util.logging.Level.ALL);
        root.addHandler(new JulHandler());
    }

    /** Writes a record, with the trace of an error. */
    public static void write(Level level, String logger, String text, Throwable error) {
        String whole = text == null ? "null" : text;
        if (error != null) {
            StringWriter trace = new StringWriter();
            error.printStackTrace(new PrintWriter(trace));
            whole = whole + "\n" + trace.toString().stripTrailing();
        }
        if (whole.length() > MOST) {
            whole = whole.substring(0, MOST / 2) + "\n...\n" + whole.substring(whole.length() - MOST / 2 + 8);
        }
        ObjectNode line = JSON.createObjectNode().put("level", level.name()).put("logger", logger).put("text", whole)
            .put("time", System.currentTimeMillis() / 1000.0);
        if (Tenancy.current() != 0) {
            line.put("tenant", Tenancy.current());
        }
        byte[] bytes = ("\u001e" + line + "\n").getBytes(StandardCharsets.UTF_8);
        synchronized (OUT) {
            try {
                OUT.write(bytes);
            } catch (IOException gone) {
                // the reader is gone: the process is about to end
            }
        }
    }

    private static PrintStream printed(String logger, Level level) {
        return new PrintStream(new PrintedLines(logger, level), true, StandardCharsets.UTF_8);
    }

    /** Logs each printed line; lines of two threads do not mix. */
    private static final class PrintedLines extends OutputStream {
        private final String logger;
        private final Level level;
        private final ThreadLocal<java.io.ByteArrayOutputStream> begun = ThreadLocal.withInitial(java.io.ByteArrayOutputStream::new);

        PrintedLines(String logger, Level level) {
            this.logger = logger;
            this.level = level;
        }

        @Override
        public void write(int one) {
            if (one != '\n') {
                begun.get().write(one);
                return;
            }
            String line = begun.get().toString(StandardCharsets.UTF_8);
            begun.get().reset();
            LogOutput.write(level, logger, line, null);
        }
    }

    /** Passes records of java.util.logging on if their logger's level allows. */
    private static final class JulHandler extends Handler {
        @Override
        public void publish(LogRecord record) {
            Level level = level(record.getLevel().intValue());
            String name = record.getLoggerName() == null ? "root" : record.getLoggerName();
            if (Levels.isEnabled(name, level)) {
                String text = new java.util.logging.SimpleFormatter().formatMessage(record);
                LogOutput.write(level, name, text, record.getThrown());
            }
        }

        private static Level level(int number) {
            return number >= 1000 ? Level.ERROR : number >= 900 ? Level.WARN : number >= 800 ? Level.INFO
                : number >= 500 ? Level.DEBUG : Level.TRACE;
        }

        @Override
        public void flush() {
            // nothing is buffered
        }

        @Override
        public void close() {
            // the output stays open
        }
    }
}
