package dev.happycity;

import dev.happycity.v1.SeatResult;
import java.util.List;

/**
 * How a game ended.
 *
 * @param seats by seat: points, place, how the seat ended, and more
 */
public record GameOver(long matchId, List<SeatResult> seats) {}
