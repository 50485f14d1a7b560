#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a careless person gets: one clear sentence, the right exit status, nothing damaged.
set -u
fail() { echo "FAILED: $*" >&2; exit 1; }

# refuse STATUS PATTERN COMMAND...: it must fail so, with one line that matches.
refuse() {
    want=$1 pattern=$2
    shift 2
    "$@" >out.txt 2>err.txt
    got=$?
    [ $got = "$want" ] || fail "status $got instead of $want for: $* ($(cat err.txt))"
    grep -q -- "$pattern" err.txt || fail "no '$pattern' in: $(cat err.txt)"
    [ "$(wc -l <err.txt)" = 1 ] || fail "more than one line: $(cat err.txt)"
}

"$GUST" data generate movielens --rows 100000 --out ml >/dev/null || fail "generate"
"$GUST" data generate criteo --rows 20000 --out cr >/dev/null || fail "generate"

refuse 2 "there is no command 'trian'" "$GUST" trian
refuse 2 "there is no option --wrokers" "$GUST" train --data ml --wrokers 3
refuse 2 "data FOLDER: is missing" "$GUST" train
refuse 2 "'many' is not a whole number" "$GUST" train --data ml --workers many
refuse 2 "cannot read nothing-here: No such file" "$GUST" train --data nothing-here
[ ! -e nothing-here ] || fail "looking for a data set made a folder"
refuse 2 "there is no 'forest'" "$GUST" train --data ml --model forest
refuse 2 "labels of two classes" "$GUST" train --data ml --model logistic
refuse 2 "needs ratings" "$GUST" train --data cr --model factorisation
refuse 2 "more than the data set's 1024 lanes" "$GUST" train --data ml --workers 1500 --out refused
[ ! -e refused ] || fail "what was refused left a folder"
refuse 2 "is not a folder" "$GUST" train --data ml --out ml/data/manifest
refuse 2 "is more than the .* examples" "$GUST" train --data ml --batch 1000000
refuse 2 "'fast' is not a number" "$GUST" train --data ml --set rate=fast
refuse 2 "key=value" "$GUST" train --data ml --set rate
refuse 2 "a function needs .* MB and is given 128 MB" \
    "$GUST" train --data ml --memory 128 --set rank=1000 --threads 100
refuse 2 "already; --force replaces it" "$GUST" data generate movielens --rows 1000 --out ml

# A model that is there is not replaced unasked.
"$GUST" train --data ml --epochs 1 --out kept --quiet || fail "train"
cp kept/model.safetensors before
refuse 2 "exists; choose another --out" "$GUST" train --data ml --epochs 1 --out kept
cmp before kept/model.safetensors || fail "the model was touched"

# Damaged data: every kind is noticed, named, and leaves no model.
first=$(ls ml/data/train | head -1)
damage() { # damage NAME PATTERN: ml-NAME has been made by the caller
    refuse 2 "$2" "$GUST" train --data "ml-$1" --epochs 1 --out "out-$1"
    [ ! -e "out-$1/model.safetensors" ] || fail "a model from damaged data"
}
cp -r ml ml-flip
python3 - ml-flip/data/train/$first <<'PY'
import sys
b = bytearray(open(sys.argv[1], "rb").read()); b[len(b) // 2] ^= 4
open(sys.argv[1], "wb").write(b)
PY
damage flip "data/train/$first"
cp -r ml ml-short
python3 - ml-short/data/train/$first <<'PY'
import sys
b = open(sys.argv[1], "rb").read(); open(sys.argv[1], "wb").write(b[:len(b) - 100])
PY
damage short "data/train/$first"
cp -r ml ml-gone
rm ml-gone/data/train/$first
damage gone "data/train/$first"
cp -r ml ml-swap
cp cr/data/train/$(ls cr/data/train | head -1) ml-swap/data/train/$first
damage swap "data/train/$first"
cp -r ml ml-manifest
echo "nonsense" >ml-manifest/data/manifest
damage manifest "manifest"
