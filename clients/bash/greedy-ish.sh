#!/usr/bin/env bash
# Buys the dearest card that it can pay for, draws from the dearest deck that it could buy from, and takes
# any special. Needs bash and jq:
#
#   happycity bridge -- bash clients/bash/greedy-ish.sh
set -euo pipefail

if ! command -v jq >/dev/null; then
    echo "greedy-ish.sh needs jq, which is not installed (Debian: apt-get install jq)" >&2
    exit 1
fi

# One line a decision: the coins in hand, then a word for each legal move, in their order: what it does, and
# the number that matters, a deck or a price. So the shell need not understand JSON.
words='
    select(.type == "decision")
    | [.view.seats[.seat].coins, (.moves[] | to_entries[0] | "\(.key):\(.value.deck // .value.price // 0)")]
    | join(" ")'

# The purse that the cheapest card of each deck asks for.
purse=(0 1 4 6)

worth=0
value() { # KIND NUMBER COINS: set `worth` to how much the bot likes a move
    case $1 in
        build | dwell) worth=$2 ;;
        draw) worth=$((purse[$2] <= $3 ? $2 : 0)) ;;
        take) worth=1 ;;
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
