#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gust data import from outside: formats found out, packed files, repeated and interrupted imports.
set -u
fail() { echo "FAILED: $*" >&2; exit 1; }

refuse() {
    want=$1 pattern=$2
    shift 2
    "$@" >out.txt 2>err.txt
    got=$?
    [ $got = "$want" ] || fail "status $got instead of $want for: $* ($(cat err.txt))"
    grep -q -- "$pattern" err.txt || fail "no '$pattern' in: $(cat err.txt)"
}
sums() { (cd "$1" && find . -type f ! -name manifest -exec cksum {} + | sort); }

# A table with quotes, gaps and text labels, plain and packed, in one file and in several.
python3 - <<'PY' || fail "python"
import random
random.seed(1)
rows = ['%d,"%s, %s",%s,%s' % (i, random.choice("abc"), random.choice("xyz"), random.choice(["", "%.2f" % random.random()]),
                               random.choice(["yes", "no"])) for i in range(5000)]
head = "id,place,price,label"
open("all.csv", "w").write("\n".join([head] + rows) + "\n")
import os
os.mkdir("parts")
open("parts/1.csv", "w").write("\n".join([head] + rows[:2000]) + "\n")
open("parts/2.csv", "w").write("\r\n".join([head] + rows[2000:]))
PY
"$GUST" data import --in all.csv --out a >a.txt 2>err.txt || fail "import: $(cat err.txt)"
grep -q "csv" a.txt && grep -q "column    price                numeric, 0" a.txt || fail "info: $(cat a.txt)"
grep -q "classes   no yes" a.txt || fail "classes: $(cat a.txt)"
gzip -k all.csv
"$GUST" data import --in all.csv.gz --out b >/dev/null 2>&1 || fail "import gz"
"$GUST" data import csv --in parts/1.csv --in parts/2.csv --threads 3 --out c >/dev/null 2>&1 || fail "import two"
"$GUST" data import --in parts --out d >/dev/null 2>&1 || fail "import a folder"
for other in b c d; do [ "$(sums a)" = "$(sums $other)" ] || fail "a and $other differ"; done
"$GUST" data info --data a --json --verify | grep -q '"transform":{"format":"csv","scale":"minmax"' || fail "json"

# Again: nothing is done. Other options: refused, then replaced when asked.
"$GUST" data import --in all.csv --out a >/dev/null 2>err.txt || fail "import again"
grep -q "nothing to import: a was made from the same files and options" err.txt || fail "$(cat err.txt)"
refuse 2 "made from something else; --force replaces it" "$GUST" data import --in all.csv --scale log --out a
"$GUST" data import --in all.csv --scale log --out a --force --quiet >a.txt || fail "import --force"
grep -q "scaled by log" a.txt || fail "not replaced: $(cat a.txt)"
"$GUST" data info --data a --verify >/dev/null || fail "verify"

# Killed at any time: there is no data set, and the next import succeeds.
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do cat all.csv | sed 1d; done >body
for i in 1 2 3 4 5 6 7 8 9 10; do cat body; done >>all.csv
for delay in 0.02 0.1 0.3; do
    "$GUST" data import --in all.csv --out k --quiet >/dev/null 2>&1 &
    pid=$!
    sleep $delay
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    [ ! -e k/data/manifest ] || "$GUST" data info --data k --verify >/dev/null || fail "half a data set opens"
done
"$GUST" data import --in all.csv --out k --quiet >/dev/null || fail "import after kills"
"$GUST" data info --data k --verify >/dev/null || fail "verify after kills"
[ -z "$(find k -path '*aside*' -type f)" ] || fail "something was left aside"

# Bad input.
head -c 100000 /dev/urandom >garbage
refuse 2 "garbage looks like binary data" "$GUST" data import --in garbage --out x
refuse 2 "the file looks like CSV with a header" "$GUST" data import libsvm --in parts/1.csv --out x
refuse 2 "is no format; use libsvm, movielens, criteo or csv" "$GUST" data import parquet --in all.csv --out x
refuse 2 "say what to import" "$GUST" data import --out x
refuse 2 "there is no column 'nothing'" "$GUST" data import --in parts --columns label=nothing --out x
refuse 2 "none, minmax or log" "$GUST" data import --in parts --scale cubic --out x
head -c 5000000 /dev/zero | tr '\0' 7 >long
(printf '1::2::3\n1::3::4\n'; cat long) >long.dat
refuse 2 "long.dat:3: the line is longer than" "$GUST" data import --in long.dat --out x
gzip -c parts/1.csv | head -c 5000 >cut.gz
refuse 2 "cut.gz: the compressed data are cut short" "$GUST" data import --in cut.gz --out x
[ ! -e x/data/manifest ] || fail "a refused file became a data set"
echo "gust data import: ok"
