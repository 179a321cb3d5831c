package hearth.stage.log;

/** Log levels by Kafka Connect's names, lowest first. */
public enum Level {
    ALL, TRACE, DEBUG, INFO, WARN, ERROR, FATAL, OFF
}
