import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import org.joda.time.DateTime;
import org.joda.time.DateTimeZone;
import org.joda.time.format.DateTimeFormat;
import org.joda.time.format.DateTimeFormatter;

/** Writes directories as Confluent's TimeBasedPartitioner makes them of Joda-Time; path_format.jsonl is what it printed. */
public class PathFormats {
    static final String[] PATTERNS = {
        "'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH", "yyyy-MM-dd", "YYYY/MM/DD", "yy/M/d", "xxxx-'W'ww-e", "xx-w",
        "EEE/EEEE/MMM/MMMM", "hh:mm:ss a", "KK-kk-H", "SSS", "S", "SSSSS", "CC", "G yyyy", "Z/ZZ/ZZZ", "'it''s' ''d''",
        "'dt'=yyyy-MM-dd/'h'=HH/'m'=mm", "yyyyy", "D/DDD", "yyyy_MM+dd.HH",
    };
    static final String[] ZONES = {
        "UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "+05:45", "-03:30",
        "America/Sao_Paulo",
    };
    static final long HOUR = 3_600_000L;
    static final long[] DURATIONS = {60_000L, 600_000L, HOUR, 6 * HOUR, 24 * HOUR, 7 * 24 * HOUR};
    static final long[] TIMES = {
        0L, 1L, 1_700_000_000_123L, 1_764_333_333_999L, 1_711_846_799_999L, 1_711_846_800_000L, 1_729_990_799_999L,
        1_729_990_800_000L, 1_729_994_399_999L, 1_730_610_000_000L, 1_730_613_599_999L, 1_710_054_000_000L,
        1_735_689_599_999L, 1_735_689_600_000L, 951_782_400_000L, -1L, -86_400_001L, 1_539_485_999_999L,
        1_539_486_000_000L, 4_102_444_800_000L,
    };

    static long partition(long granularity, long timestamp, DateTimeZone zone) {
        long local = zone.convertUTCToLocal(timestamp);
        return zone.convertLocalToUTC((local / granularity) * granularity, false);
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String pattern : PATTERNS) {
            for (String id : ZONES) {
                DateTimeZone zone = DateTimeZone.forID(id);
                DateTimeFormatter formatter = DateTimeFormat.forPattern(pattern).withZone(zone).withLocale(Locale.US);
                for (long duration : DURATIONS) {
                    StringBuilder texts = new StringBuilder();
                    for (long time : TIMES) {
                        String text = new DateTime(partition(duration, time, zone)).toString(formatter);
                        texts.append(texts.length() == 0 ? "" : ", ").append('"').append(text).append('"');
                    }
                    out.printf("{\"pattern\": \"%s\", \"zone\": \"%s\", \"duration\": %d, \"texts\": [%s]}%n",
                        pattern, id, duration, texts);
                }
            }
        }
        StringBuilder times = new StringBuilder();
        for (long time : TIMES) {
            times.append(times.length() == 0 ? "" : ", ").append(time);
        }
        out.printf("{\"times\": [%s]}%n", times);
    }
}
