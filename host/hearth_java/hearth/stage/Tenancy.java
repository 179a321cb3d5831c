package hearth.stage;

/** The tenant that a thread works for; threads inherit it. */
public final class Tenancy {
    private static final InheritableThreadLocal<Integer> NUMBER = new InheritableThreadLocal<>();

    private Tenancy() {
    }

    /** Returns the tenant of this thread, 0 for the whole stage. */
    public static int current() {
        Integer number = NUMBER.get();
        return number == null ? 0 : number;
    }

    static void workFor(int number) {
        NUMBER.set(number);
    }
}
