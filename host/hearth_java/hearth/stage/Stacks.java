package hearth.stage;

import java.lang.management.LockInfo;
import java.lang.management.ManagementFactory;
import java.lang.management.MonitorInfo;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.stream.Collectors;

/** What every thread does: its stack, the locks that it holds, and the one that it waits for. */
final class Stacks {
    private Stacks() {
    }

    /** Returns a paragraph per thread but the current one; a first one names threads that wait for each other for ever. */
    static String text() {
        ThreadMXBean bean = ManagementFactory.getThreadMXBean();
        StringBuilder text = new StringBuilder();
        long[] deadlocked = bean.findDeadlockedThreads();
        if (deadlocked != null) {
            String names = Arrays.stream(bean.getThreadInfo(deadlocked)).map(ThreadInfo::getThreadName).collect(Collectors.joining(", "));
            text.append("deadlock of the threads ").append(names).append("\n\n");
        }
        for (ThreadInfo thread : bean.dumpAllThreads(true, true)) {
            if (thread.getThreadId() != Thread.currentThread().getId()) {
                write(thread, text);
            }
        }
        return text.toString();
    }

    private static void write(ThreadInfo thread, StringBuilder text) {
        text.append("thread ").append(thread.getThreadName()).append(" (").append(thread.getThreadState());
        if (thread.getLockName() != null) {
            text.append(" on ").append(thread.getLockName());
        }
        if (thread.getLockOwnerName() != null) {
            text.append(", which thread ").append(thread.getLockOwnerName()).append(" holds");
        }
        text.append("):\n");
        StackTraceElement[] frames = thread.getStackTrace();
        for (int depth = 0; depth < frames.length; depth++) {
            text.append("  at ").append(frames[depth]).append('\n');
            for (MonitorInfo monitor : thread.getLockedMonitors()) {
                if (monitor.getLockedStackDepth() == depth) {
                    text.append("  holds ").append(monitor).append('\n');
                }
            }
        }
        for (LockInfo lock : thread.getLockedSynchronizers()) {
            text.append("  holds ").append(lock).append('\n');
        }
        text.append('\n');
    }
}
