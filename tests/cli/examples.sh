#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every example does what its first lines say: the commands there are run, with fewer rows.
set -u
fail() { echo "FAILED: $*" >&2; exit 1; }

mkdir bin
ln -s "$GUST" bin/gust
ln -s "$GUST_WORKER" bin/gust-worker
ln -s "$SOURCE/examples" examples
PATH=$PWD/bin:$PATH

# The commands up to the one that trains; what follows is about data of one's own.
commands() {
    sed -n 's/^#     //p' "examples/$1.yaml" | sed '/^gust train/q' | sed 's/--rows [0-9]*M/--rows 40k/'
}

try() {
    commands "$1" >commands.txt
    grep -q "^gust train examples/$1.yaml\$" commands.txt || fail "$1 does not say how to run it"
    grep -v '^gust train' commands.txt >prepare.sh
    sh -eu prepare.sh >prepare.txt 2>&1 || fail "$1: $(cat prepare.txt)"
    gust check "examples/$1.yaml" >check.txt 2>&1 || fail "check $1: $(cat check.txt)"
    gust train "examples/$1.yaml" --set stop.epochs=1 --quiet 2>train.txt
    # Status 3: a goal was not reached, as with so few rows it need not be.
    case $? in 0 | 3) ;; *) fail "train $1: $(cat train.txt)" ;; esac
    [ -s "out/$1/model.safetensors" ] || fail "$1 left no model"
}

# Some use the data of others, so these come first.
try recommender
try ctr
for example in examples/*.yaml; do
    name=$(basename "$example" .yaml)
    [ -e "out/$name" ] || try "$name"
done
