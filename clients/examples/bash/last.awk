# Plays the last legal move of each decision, in awk alone: what the bot may do is found in the line as text.
# The first one would be the neutral move, and a bot that plays nothing else never builds.
#
#   happycity bridge -- awk -W interactive -f clients/examples/bash/last.awk     mawk, which else waits for more input
#   happycity bridge -- awk -f clients/examples/bash/last.awk                    any other awk

/^\{"type":"decision"/ {
    # "legal":["coin","build museum"] comes before anything else that has brackets.
    match($0, /"legal":\[[^]]*\]/)
    count = split(substr($0, RSTART + 9, RLENGTH - 10), moves, ",")
    move = moves[count]
    gsub(/"/, "", move)
    print move
    fflush()
}
