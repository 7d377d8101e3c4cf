/* The rules of Happy City for search: bytes in, bytes and numbers out.
 *
 * - A position is at most HAPPYCITY_POSITION_SIZE bytes; engine/src/bytes.rs describes them. The bytes 2 to 5 are the
 *   number of seats, the round, the seat to decide and the step, numbered as in the contract's Phase.
 * - A move is one byte, its number: Move.index of the Python package happycity. Legal moves have the order of
 *   Decision.moves, so the place of a move among them is also the answer to a decision.
 * - A card is one byte, its value in the contract's enum Card.
 * - `fast` has bit n set for a seat n that never takes a coin if it can buy; 0 is always allowed.
 * - Rows are points, coins, inhabitants, hearts and ranks, each by seat: 5 times the number of seats, at most
 *   HAPPYCITY_ROWS numbers. Rank 1 is first, and equal seats share a rank.
 *
 * The caller promises that addresses of inputs have the bytes that sizes state, and addresses of outputs room for the
 * result. An output may lie where an input does. Nothing is kept between calls, so any number of threads may call.
 *
 * A result below 0 is a refusal (enum happycity_refusal), and then nothing was written. Inputs are checked completely:
 * any bytes are either a position that can be played on, or refused.
 *
 * WebAssembly: engine/c/happycity_engine.wasm exports the same functions and its memory. Addresses are offsets in it, and
 * numbers of more than a byte lie there with the lowest byte first. Two more functions, without arguments, say which part
 * of the memory is the host's: happycity_buffer its address, a multiple of 8, and happycity_buffer_size its size, 4096.
 * An instance belongs to one thread at a time.
 */
#ifndef HAPPYCITY_ENGINE_H
#define HAPPYCITY_ENGINE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HAPPYCITY_POSITION_SIZE = 256,
    HAPPYCITY_MOVES = 8,   /* legal moves at most */
    HAPPYCITY_AWAITED = 37, /* awaited cards at most */
    HAPPYCITY_ROWS = 25
};

enum happycity_refusal {
    HAPPYCITY_MALFORMED = -1,  /* bytes that are not a position, or not a view */
    HAPPYCITY_IMPOSSIBLE = -2, /* a position or view that no game can reach */
    HAPPYCITY_ILLEGAL = -3,    /* a move that is not legal, a card that is not awaited, or a number out of range */
    HAPPYCITY_AWAITING = -4    /* a card is awaited: reveal it first */
};

/* Returns the version of this interface, 1. */
int32_t happycity_version(void);

/* Deals as the arena does from a seed. players: 2 to 5; expert and sum: 0 or 1. Returns the size of the position. */
int32_t happycity_deal(uint32_t players, uint32_t expert, uint32_t sum, uint64_t seed, uint8_t *position);

/* Draws a position that looks like a view, a serialised happycity.v1.View, and returns its size. */
int32_t happycity_sample(const uint8_t *view, uint32_t size, uint64_t seed, uint8_t *position);

/* Returns the rivals of the seat to decide that have bought a card in every turn so far, for `fast`. */
int32_t happycity_fast(const uint8_t *view, uint32_t size);

/* Returns how many moves are legal: none at the end, and while a card is awaited. */
int32_t happycity_legal_moves(const uint8_t *position, uint32_t size, uint8_t *moves);

/* Plays a legal move, then every forced one up to the next decision; returns the size of the next position. */
int32_t happycity_apply(const uint8_t *position, uint32_t size, uint32_t move, uint8_t *next);

/* Plays each of some legal moves, at most HAPPYCITY_MOVES, from the same position, and all seats on to the end by the
 * quick policy. The values, -1 to 1, are how the seat to decide does. Returns the count. */
int32_t happycity_playouts(const uint8_t *position, uint32_t size, const uint8_t *moves, uint32_t count,
                           uint32_t fast, double *values);

/* Plays to the end at random, and returns the number of seats. */
int32_t happycity_random_playout(const uint8_t *position, uint32_t size, uint64_t seed, int32_t *rows);

/* Returns the move that the quick policy chooses; HAPPYCITY_ILLEGAL at the end, where there is none. */
int32_t happycity_quick_move(const uint8_t *position, uint32_t size, uint32_t fast);

/* Plays a move and quick ones up to the seat's next turn, or to the end; returns the size of that position. */
int32_t happycity_next_turn(const uint8_t *position, uint32_t size, uint32_t move, uint8_t *next);

/* Writes how the game ended, and returns the number of seats; 0 while it goes on, and then nothing is written. */
int32_t happycity_outcome(const uint8_t *position, uint32_t size, int32_t *rows);

/* Writes how the game would end if it ended now, and returns the number of seats. */
int32_t happycity_score(const uint8_t *position, uint32_t size, int32_t *rows);

/* Makes the same position without hidden orders, which awaits a card at each draw; returns its size. */
int32_t happycity_opened(const uint8_t *position, uint32_t size, uint8_t *next);

/* Writes the cards of which the position awaits one, each as likely as the others, at most HAPPYCITY_AWAITED; a card of
 * which two are left is there twice. Returns their number. */
int32_t happycity_awaited(const uint8_t *position, uint32_t size, uint8_t *cards);

/* Lets the awaited card be this one, and plays on; returns the size of the next position. */
int32_t happycity_reveal(const uint8_t *position, uint32_t size, uint32_t card, uint8_t *next);

#ifdef __cplusplus
}
#endif

#endif
