#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gust prices: the book, one list, what a run would cost, and lists of one's own.
set -u
fail() { echo "FAILED: $*" >&2; exit 1; }

# refuse PATTERN COMMAND...: status 2, nothing on standard output, one line that matches.
refuse() {
    pattern=$1
    shift
    "$@" >out.txt 2>err.txt
    got=$?
    [ $got = 2 ] || fail "status $got instead of 2 for: $*"
    [ ! -s out.txt ] || fail "printed before it failed: $*"
    grep -q -- "$pattern" err.txt || fail "no '$pattern' in: $(cat err.txt)"
    [ "$(wc -l <err.txt)" = 1 ] || fail "more than one line: $(cat err.txt)"
}

# Every file of the folder is listed, with the date that stands in it.
"$GUST" prices >book.txt || fail "the book"
for file in "$SOURCE"/prices/*.yaml; do
    date=$(sed -n 's/^date: //p' "$file")
    grep -q "^$(basename "$file" .yaml) .* $date " book.txt || fail "$file is not listed with $date"
    "$GUST" prices "$(basename "$file" .yaml)" >list.txt || fail "$file"
    grep -q "$(sed -n 's/^source: //p' "$file")" list.txt || fail "$file is shown without its source"
done
"$GUST" prices aws-lambda-x86 | grep -q "^usd_per_gb_second *0.0000166667 USD per GB-second" ||
    fail "the price of Lambda"

# 8 x 1769/1024 GB x 60 s x 0.0000166667 + 8 x 0.0000002
"$GUST" prices --compare --workers 8 --memory 1769 --seconds 60 >compare.txt || fail "compare"
grep -q "^aws-lambda-x86 *0.013822 " compare.txt || fail "Lambda costs otherwise: $(cat compare.txt)"
# Fifteen minutes at a time: an hour of one function is four invocations.
"$GUST" prices --compare aws-lambda-x86 --workers 1 --seconds 3600 --json >one.json || fail "json"
grep -q '"name":"invocations","quantity":4,' one.json || fail "no four invocations: $(cat one.json)"
# One list alone is shown item by item.
"$GUST" prices --compare aws-lambda-x86 >items.txt || fail "one list"
grep -q "^  functions, memory *829.2 GB-s x .0.0000166667 per GB-s *0.013820" items.txt ||
    fail "no item for memory: $(cat items.txt)"
grep -q "^  total *0.015056" items.txt || fail "no total: $(cat items.txt)"
"$GUST" prices --compare --memory 8000 | grep -q "^azure-functions-flex .*largest have 4096 MB" ||
    fail "a size that Azure does not sell has a price"
if command -v python3 >/dev/null; then
    for words in "" aws-ec2-x86 --compare "--compare --memory 8000"; do
        # shellcheck disable=SC2086
        "$GUST" prices $words --json | python3 -m json.tool >/dev/null || fail "JSON of '$words'"
    done
fi

# A list of one's own, beside built-in ones.
sed 's/^name: .*/name: Our contract/; s/^usd_per_gb_second: .*/usd_per_gb_second: 0.00001/' \
    "$SOURCE/prices/aws-lambda-x86.yaml" >mine.yaml
"$GUST" prices mine.yaml | grep -q "Our contract" || fail "a list of one's own"
"$GUST" prices --compare mine.yaml aws-lambda-x86 | grep -q "^mine.yaml *0.008294 " ||
    fail "a list of one's own is not counted with"

refuse "there is no price list 'aws-lamda'; there are .*aws-lambda-x86" "$GUST" prices aws-lamda
refuse "cannot open the price list 'none.yaml': No such file" "$GUST" prices none.yaml
refuse "is a list of objects; a job is billed" "$GUST" prices --compare mine.yaml aws-s3
refuse "one list too many" "$GUST" prices aws-s3 aws-ec2-x86
refuse "is not a whole number from 1" "$GUST" prices --compare --workers 0
refuse "memory: 'much' is not a size" "$GUST" prices --compare --memory much
refuse "store: '0' is not a size" "$GUST" prices --compare --store 0
refuse "seconds: '1y' is not a duration" "$GUST" prices --compare --seconds 1y
"$GUST" prices --compare --memory 2GB --seconds 1h | head -1 | grep -q "2048 MB for 3600 s" ||
    fail "sizes and times as in job files"
sed 's/^billing_unit_ms: .*/billing_unit_ms: often/' mine.yaml >bad.yaml
refuse "price list 'bad.yaml': line [0-9]*: billing_unit_ms: 'often' is not a number from 1" \
    "$GUST" prices bad.yaml
grep -v '^source:' mine.yaml >bad.yaml
refuse "there is no line 'source: ...'" "$GUST" prices --compare bad.yaml
head -c 3000 /dev/urandom >bad.yaml
refuse "price list 'bad.yaml'" "$GUST" prices bad.yaml
mkdir folder.yaml
refuse "folder.yaml" "$GUST" prices folder.yaml
