package dev.happycity;

import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.Map;

/**
 * Calls an action at SIGINT and SIGTERM.
 *
 * <p>A shutdown hook could say goodbye too, but the program could not go on after it, nor end with
 * status 0. sun.misc.Signal allows that; it isn't part of Java, but of its usual distributions.
 * Without it, a signal ends the program at once. It is named in strings because the compiler warns
 * of it.
 */
final class Signals {
  private final Runnable action;
  private final Map<Object, Object> earlier = new HashMap<>(); // handlers by signal
  private Method handle;

  Signals(Runnable action) {
    this.action = action;
  }

  /** Has the first of each signal call the action; a second one does what it did before. */
  synchronized void listen() {
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
      // not in this distribution, or used by other code
    }
  }

  private synchronized Object onSignal(Object proxy, Method method, Object[] signal)
      throws ReflectiveOperationException {
    handle.invoke(null, signal[0], earlier.get(signal[0]));
    action.run();
    return null;
  }

  /** Restores the earlier handlers. */
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
