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
 * <p>The messages and services of the contract are the package {@code dev.happycity.v1}.
 */
package dev.happycity;
