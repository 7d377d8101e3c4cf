package dev.happycity;

import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.Map;

/**
 * Hears of SIGINT and SIGTERM.
 *
 * <p>A shutdown hook could say goodbye too, but the program could not go on after it, nor end with
 * status 0. What can is sun.misc.Signal, which is not part of Java but of its usual distributions;
 * where it isn't, a signal ends the program at once. It is named in strings because the compiler
 * warns of it.
 */
final class Signals {
  private final Runnable action;
  private final Map<Object, Object> earlier = new HashMap<>(); // handlers by signal
  private Method handle;

  Signals(Runnable action) {
    this.action = action;
  }

  /** Has the first of each signal do the action; a second one does what it did before. */
  synchronized void hear() {
    try {
      Class<?> signals = Class.forName("sun.misc.Signal");
      Class<?> handlers = Class.forName("sun.misc.SignalHandler");
      Constructor<?> signal = signals.getConstructor(String.class);
      handle = signals.getMethod("handle", signals, handlers);
      Object ours =
          Proxy.newProxyInstance(
              Signals.class.getClassLoader(), new Class<?>[] {handlers}, this::onSignal);
      for (String name : new String[] {"INT", "TERM"}) {
        Object known = signal.newInstance(name);
        earlier.put(known, handle.invoke(null, known, ours));
      }
    } catch (ReflectiveOperationException e) {
      // not to be had here, or used by somebody else
    }
  }

  private synchronized Object onSignal(Object proxy, Method method, Object[] signal)
      throws ReflectiveOperationException {
    handle.invoke(null, signal[0], earlier.get(signal[0]));
    action.run();
    return null;
  }

  /** Hears of no signal any more. */
  synchronized void restore() {
    earlier.forEach(
        (signal, handler) -> {
          try {
            handle.invoke(null, signal, handler);
          } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e); // it went well before
          }
        });
  }
}
