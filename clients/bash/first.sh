#!/usr/bin/env bash
# Buys the dearest card there is, and takes any special. Needs jq.
exec jq --unbuffered '
    select(.type == "decision")
    | .moves
    | map(if .take then 100 else (.build // .dwell).price // 0 end)
    | index(max)  # the first move, the neutral one, if nothing can be bought
'
