#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The other compiler gives the same data and the same model, bit for bit.
set -eu
fail() { echo "FAILED: $*" >&2; exit 1; }

case $(dirname "$GUST") in
*/gcc) other=clang ;;
*/clang) other=gcc ;;
*) echo "only release builds are compared"; exit 77 ;;
esac
command -v $other >/dev/null 2>&1 || { echo "$other is not installed"; exit 77; }

make -s -C "$SOURCE" CC=$other "B=$PWD/build" programs >make.txt 2>&1 || fail "$(tail -5 make.txt)"
for gust in "$GUST" build/gust; do
    "$gust" data generate movielens --rows 60000 --out ml --force >/dev/null
    "$gust" data generate criteo --rows 20000 --out cr --force >/dev/null
    "$gust" train --data ml --epochs 2 --out "a-$(basename "$(dirname "$gust")")" --quiet
    "$gust" train --data cr --model logistic --epochs 2 --out "b-$(basename "$(dirname "$gust")")" --quiet
done
for model in a b; do
    cmp $model-build/model.safetensors $model-"$(basename "$(dirname "$GUST")")"/model.safetensors ||
        fail "$other gives another model"
done
