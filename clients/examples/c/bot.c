/*
 * A bot in C without libraries. It looks at the texts of the legal moves only, such as "build museum":
 * it takes a special, buys the last building or dwelling on offer, draws from the middle deck, and otherwise
 * plays the first move, which is the neutral one.
 *
 *   make -C clients/examples/c && happycity bridge -- clients/examples/c/bot
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char DECISION[] = "{\"type\":\"decision\"";
static const char LEGAL[] = "\"legal\":[";

/* How much the bot likes a move, by the first letters of its text. */
static int worth(const char *move)
{
    if (strncmp(move, "take ", 5) == 0)
        return 2;
    if (strncmp(move, "build ", 6) == 0 || strncmp(move, "dwell ", 6) == 0)
        return 1;
    return strncmp(move, "draw 2", 6) == 0;
}

/* Return the position of the chosen move. The list ends at a bracket, which no move has in its text. */
static int choose(const char *move)
{
    int best = 0, most = 1, position = 0;

    for (; *move == '"'; position++) {
        if (worth(move + 1) >= most) {
            best = position;
            most = worth(move + 1);
        }
        move = strchr(move + 1, '"');
        if (move == NULL)
            break;
        move += move[1] == ',' ? 2 : 1;
    }
    return best;
}

int main(void)
{
    char *line = NULL;
    size_t size = 0;

    /* Without this, the answers would wait in a buffer until it is full. */
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    while (getline(&line, &size, stdin) > 0) {
        const char *legal = strstr(line, LEGAL);

        /* Only decisions are answered; there are other lines. */
        if (strncmp(line, DECISION, strlen(DECISION)) == 0 && legal != NULL)
            printf("%d\n", choose(legal + strlen(LEGAL)));
    }
    free(line);
    return 0;
}
