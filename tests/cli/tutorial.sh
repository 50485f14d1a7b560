#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tutorial is true: its commands run, in order, and print what it shows, figures apart.
set -u
fail() { echo "FAILED: $*" >&2; exit 1; }

page=$SOURCE/docs/TUTORIAL.md
PATH=$(dirname "$GUST"):$PATH
export PATH

# block KIND: the lines between ```KIND and ```.
block() { awk -v begin="^\`\`\`$1\$" '/^```$/ { on = 0 } on { print } $0 ~ begin { on = 1 }' "$page"; }

# plain: without the digits of figures, which may differ where awk's random numbers do.
plain() { sed 's/[0-9][0-9.,]*/#/g; s/  */ /g'; }

block sh >commands.sh
[ "$(grep -c '^gust ' commands.sh)" -ge 10 ] || fail "the commands of the tutorial were not found"
block text >shown.txt
[ -s shown.txt ] || fail "the output in the tutorial was not found"

sh -eu commands.sh >printed.txt 2>errors.txt || fail "$(tail -n 3 errors.txt)"
plain <printed.txt >printed.plain
plain <shown.txt | while read -r line; do
    grep -qxF -- "$line" printed.plain || { echo "$line"; break; }
done >missing.txt
[ ! -s missing.txt ] || fail "the tutorial shows '$(cat missing.txt)', which nothing prints"
