package dev.happycity;

import com.dylibso.chicory.runtime.ConstantEvaluators;
import com.dylibso.chicory.runtime.Instance;
import com.dylibso.chicory.runtime.Memory;
import com.dylibso.chicory.wasm.types.ActiveDataSegment;
import com.dylibso.chicory.wasm.types.DataSegment;
import com.dylibso.chicory.wasm.types.MemoryLimits;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * The native engine's memory: one array of bytes, as the engine never asks for more than it starts
 * with. Chicory's own memory looks a page up at each access, which takes a third more time.
 *
 * <p>Integers and floating-point numbers are little-endian, at any address. An address outside
 * throws an IndexOutOfBoundsException. What only other modules need, such as threads, throws an
 * UnsupportedOperationException.
 */
@SuppressWarnings("removal") // methods of Memory that have to be there until they are removed
final class EngineMemory implements Memory {
  private static final VarHandle SHORT = handle(short[].class);
  private static final VarHandle INT = handle(int[].class);
  private static final VarHandle LONG = handle(long[].class);
  private static final VarHandle FLOAT = handle(float[].class);
  private static final VarHandle DOUBLE = handle(double[].class);

  private final byte[] bytes;

  EngineMemory(MemoryLimits limits) {
    bytes = new byte[Memory.bytes(limits.initialPages())];
  }

  private static VarHandle handle(Class<?> numbers) {
    return MethodHandles.byteArrayViewVarHandle(numbers, ByteOrder.LITTLE_ENDIAN);
  }

  @Override
  public void initialize(Instance instance, DataSegment[] segments) {
    for (DataSegment segment : segments) {
      if (segment instanceof ActiveDataSegment active) {
        long[] address =
            ConstantEvaluators.computeConstantValue(instance, active.offsetInstructions());
        write((int) address[0], active.data());
      }
    }
  }

  @Override
  public int pages() {
    return bytes.length / PAGE_SIZE;
  }

  @Override
  public int initialPages() {
    return pages();
  }

  @Override
  public int maximumPages() {
    return pages();
  }

  /** Refuses more pages, by WebAssembly's answer for it. */
  @Override
  public int grow(int pages) {
    return -1;
  }

  @Override
  public byte read(int address) {
    return bytes[address];
  }

  @Override
  public void writeByte(int address, byte value) {
    bytes[address] = value;
  }

  @Override
  public short readShort(int address) {
    return (short) SHORT.get(bytes, address);
  }

  @Override
  public long readU16(int address) {
    return Short.toUnsignedLong(readShort(address));
  }

  @Override
  public void writeShort(int address, short value) {
    SHORT.set(bytes, address, value);
  }

  @Override
  public int readInt(int address) {
    return (int) INT.get(bytes, address);
  }

  @Override
  public void writeI32(int address, int value) {
    INT.set(bytes, address, value);
  }

  @Override
  public long readLong(int address) {
    return (long) LONG.get(bytes, address);
  }

  @Override
  public void writeLong(int address, long value) {
    LONG.set(bytes, address, value);
  }

  @Override
  public float readFloat(int address) {
    return (float) FLOAT.get(bytes, address);
  }

  @Override
  public long readF32(int address) {
    return readInt(address);
  }

  @Override
  public void writeF32(int address, float value) {
    FLOAT.set(bytes, address, value);
  }

  @Override
  public double readDouble(int address) {
    return (double) DOUBLE.get(bytes, address);
  }

  @Override
  public long readF64(int address) {
    return readLong(address);
  }

  @Override
  public void writeF64(int address, double value) {
    DOUBLE.set(bytes, address, value);
  }

  @Override
  public byte[] readBytes(int address, int length) {
    return Arrays.copyOfRange(bytes, address, address + length);
  }

  @Override
  public void write(int address, byte[] data, int offset, int length) {
    System.arraycopy(data, offset, bytes, address, length);
  }

  @Override
  public void fill(byte value, int from, int to) {
    Arrays.fill(bytes, from, to, value);
  }

  @Override
  public void zero() {
    fill((byte) 0, 0, bytes.length);
  }

  @Override
  public boolean shared() {
    return false;
  }

  @Override
  public void initPassiveSegment(int segment, int address, int offset, int length) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void drop(int segment) {
    throw new UnsupportedOperationException();
  }

  @Override
  public Object lock(int address) {
    throw new UnsupportedOperationException();
  }

  @Override
  public int waitOn(int address, int expected, long timeout) {
    throw new UnsupportedOperationException();
  }

  @Override
  public int waitOn(int address, long expected, long timeout) {
    throw new UnsupportedOperationException();
  }

  @Override
  public int notify(int address, int waiters) {
    throw new UnsupportedOperationException();
  }
}
