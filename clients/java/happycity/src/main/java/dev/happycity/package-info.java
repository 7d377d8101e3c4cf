/**
 * Connects bots to a Happy City arena.
 *
 * <p>A bot is a method that answers a decision with the position of a move:
 *
 * <pre>{@code
 * public static void main(String[] args) {
 *   HappyCity.run(BotFactory.stateless(decision -> 0)); // the first move is always the neutral one
 * }
 * }</pre>
 *
 * <p>A bot with a memory is a class that implements {@link dev.happycity.Bot}; a {@link
 * dev.happycity.BotFactory} makes one for each game. Many games are played at once. The package
 * takes care of connecting, batches, pings, lost connections and the goodbye. {@link
 * dev.happycity.HappyCity#run} is a whole program; {@link dev.happycity.HappyCity#play} is for
 * programs that do other things too.
 *
 * <p>The messages and services of the contract are the package {@code dev.happycity.v1}.
 */
package dev.happycity;
