#!/usr/bin/env bash
# Buys the most expensive card that it can pay for, draws from the most expensive deck that it could buy from,
# and takes any special. Needs bash and jq:
#
#   happycity bridge -- bash clients/examples/bash/greedy-ish.sh
set -euo pipefail

if ! command -v jq >/dev/null; then
    echo "greedy-ish.sh needs jq, which is not installed (Debian: apt-get install jq)" >&2
    exit 1
fi

# One line a decision: the coins in hand, then a word for each legal move, in their order: its kind, and the
# number that matters, a deck or a price. So the shell need not understand JSON.
words='
    select(.type == "decision")
    | [.view.seats[.view.seat].coins, (.moves[] | "\(.kind):\(.deck - .coins)")]
    | join(" ")'

# The purse that the cheapest card of each deck asks for.
purse=(0 1 4 6)

worth=0
value() { # KIND NUMBER COINS: set `worth` to how much the bot likes a move
    case $1 in
        MOVE_KIND_BUILD | MOVE_KIND_DWELL) worth=$2 ;;
        MOVE_KIND_DRAW) worth=$((purse[$2] <= $3 ? $2 : 0)) ;;
        MOVE_KIND_TAKE) worth=1 ;;
        *) worth=0 ;;
    esac
}

# The answer is a position, from 0. The first of equal moves is the neutral one.
jq --unbuffered --raw-output "$words" | while read -r coins moves; do
    best=0 most=0 position=0
    for move in $moves; do
        value "${move%:*}" "${move#*:}" "$coins"
        if ((worth > most)); then
            best=$position most=$worth
        fi
        position=$((position + 1))
    done
    echo "$best"
done
