/**
 * Connects bots to a Happy City arena.
 *
 * <p>A bot is one method that answers a decision with the position of a move:
 *
 * <pre>{@code
 * public static void main(String[] args) {
 *   HappyCity.run(BotFactory.stateless(decision -> 0)); // the first move is always the neutral one
 * }
 * }</pre>
 *
 * <p>A bot with a memory is a class that implements {@link dev.happycity.Bot}; a {@link
 * dev.happycity.BotFactory} makes one for each game. Both may be asked about many games at once.
 * Connecting, batches, signs of life, lost connections and the goodbye are the package's business;
 * {@link dev.happycity.HappyCity#run} is all of a program, {@link dev.happycity.HappyCity#play} is
 * for programs that do other things too.
 *
 * <p>The messages and services of the protocol are the package {@code dev.happycity.v1}.
 */
package dev.happycity;
