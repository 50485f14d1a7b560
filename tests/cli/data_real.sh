#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Real sets, where they are installed: what they are is found out, and their known counts come out.
set -u
fail() { echo "FAILED: $*" >&2; exit 1; }
sets="$SOURCE/../shared/data"
[ -d "$sets/a9a" ] || { echo "skipped: no real data sets in $sets"; exit 77; }

expect() {
    folder=$1
    shift
    for pattern in "$@"; do
        grep -q -- "$pattern" $folder.txt || fail "$folder: no '$pattern' in: $(cat $folder.txt)"
    done
}
"$GUST" data import --in "$sets/a9a/a9a" --test "$sets/a9a/a9a.t" --out a9a --quiet >a9a.txt || fail "a9a"
expect a9a "32,561 rows" "16,281 rows" "123 dimensions" "2 classes" "classes   -1 1"
"$GUST" data import --in "$sets/mushrooms/mushrooms" --held-out 0 --out mushrooms --quiet >mushrooms.txt ||
    fail "mushrooms"
expect mushrooms "8,124 rows" "112 dimensions" "21.0 indices" "classes   1 2"
"$GUST" data import --in "$sets/movietweetings-100k/ratings.dat" --held-out 0 --out tweets --quiet >tweets.txt ||
    fail "MovieTweetings"
expect tweets "100,000 rows" "key 0     16,554" "key 1     10,506" "labels    0 to 10"
echo "real sets: ok"
