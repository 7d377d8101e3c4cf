package dev.happycity;

/** The program that uses this package. */
final class Program {
  private static final StackWalker CALLERS =
      StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);

  private Program() {}

  /** Returns the name of the class whose main method called this. */
  static String name() {
    return CALLERS.walk(
        callers ->
            callers
                .filter(caller -> caller.getMethodName().equals("main"))
                .findFirst()
                .map(caller -> caller.getDeclaringClass().getSimpleName())
                .orElseThrow(
                    () -> new SettingException("name", "it is missing; set HAPPYCITY_NAME")));
  }
}
