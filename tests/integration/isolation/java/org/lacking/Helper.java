package org.lacking;

import org.apache.kafka.common.config.ConfigDef;

/** A class of a library that the bundle lacks. */
public final class Helper {
    private Helper() {
    }

    /** Returns a definition. */
    public static ConfigDef definition() {
        return new ConfigDef();
    }
}
