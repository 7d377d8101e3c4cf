package dev.happycity;

import com.dylibso.chicory.runtime.ExportFunction;
import com.dylibso.chicory.runtime.Instance;
import com.dylibso.chicory.runtime.Memory;
import dev.happycity.wasm.EngineModule;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The native engine's functions, which engine/c/happycity_engine.h documents: WebAssembly that the
 * build compiles to Java's bytecode. Inputs are arrays of bytes, for address and size, and numbers.
 * Each thread has an instance of its own.
 */
final class Engine {
  private static final ThreadLocal<Engine> OF_THREAD = ThreadLocal.withInitial(Engine::new);
  private static final int LONGEST = 1024; // bytes of an input
  private static final List<String> REFUSALS =
      List.of(
          "not the bytes of a position or view",
          "no game can look like this",
          "a move that is not legal here, a card that is not awaited, or a wrong number",
          "a card is awaited: reveal it first");

  private final Instance instance =
      Instance.builder(EngineModule.load())
          .withMachineFactory(EngineModule::create)
          .withMemoryFactory(EngineMemory::new)
          .build();
  private final Memory memory = instance.memory();
  private final Map<String, ExportFunction> functions = new HashMap<>();
  private final int buffer = (int) instance.export("happycity_buffer").apply()[0];
  private final int output = buffer + 2 * LONGEST;

  /** Calls a function that writes bytes. */
  static byte[] bytes(String function, Object... inputs) {
    Engine engine = OF_THREAD.get();
    return engine.memory.readBytes(engine.output, engine.write(function, inputs));
  }

  /** Calls a function that writes rows, five for each seat; none if there is no result. */
  static int[] rows(String function, Object... inputs) {
    Engine engine = OF_THREAD.get();
    int[] rows = new int[5 * engine.write(function, inputs)];
    Arrays.setAll(rows, i -> engine.memory.readInt(engine.output + Integer.BYTES * i));
    return rows;
  }

  /** Calls a function that writes floating-point numbers. */
  static double[] doubles(String function, Object... inputs) {
    Engine engine = OF_THREAD.get();
    double[] values = new double[engine.write(function, inputs)];
    Arrays.setAll(values, i -> engine.memory.readDouble(engine.output + Double.BYTES * i));
    return values;
  }

  /** Calls a function that writes nothing, and returns its result. */
  static int number(String function, Object... inputs) {
    return OF_THREAD.get().call(function, inputs);
  }

  private int write(String function, Object[] inputs) {
    Object[] all = Arrays.copyOf(inputs, inputs.length + 1);
    all[inputs.length] = output;
    return call(function, all);
  }

  private int call(String function, Object[] inputs) {
    long[] arguments = new long[2 * inputs.length];
    int count = 0;
    int address = buffer;
    for (Object input : inputs) {
      if (input instanceof byte[] bytes) {
        if (bytes.length > LONGEST) {
          throw new IllegalArgumentException(REFUSALS.get(0));
        }
        memory.write(address, bytes);
        arguments[count++] = address;
        arguments[count++] = bytes.length;
        address += LONGEST;
      } else {
        arguments[count++] = ((Number) input).longValue();
      }
    }
    int result = run(function, Arrays.copyOf(arguments, count));
    if (result < 0) {
      throw new IllegalArgumentException(REFUSALS.get(-1 - result));
    }
    return result;
  }

  private int run(String function, long[] arguments) {
    try {
      return (int) functions.computeIfAbsent(function, instance::export).apply(arguments)[0];
    } catch (RuntimeException e) {
      // The thread was interrupted: calls that ended early have left their part of the stack
      // behind.
      OF_THREAD.remove();
      throw e;
    }
  }
}
