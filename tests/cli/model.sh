#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a person does with a model: predictions for new rows, recommendations, figures; and what a
# careless one gets.
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
    [ ! -s out.txt ] || fail "something was printed: $(cat out.txt)"
}

# Ratings: the data set, the file that it came from and the same file compressed give the same figures.
"$GUST" data generate movielens --rows 100000 --out made >/dev/null || fail "generate"
"$GUST" data export --data made --out r --format text || fail "export"
"$GUST" data import movielens --in r.train.txt --test r.test.txt --out ml --quiet >/dev/null || fail "import"
"$GUST" train --data ml --epochs 3 --out ml-out --quiet || fail "train"
m=ml-out/model.safetensors
"$GUST" evaluate --model $m --data r.test.txt --json >file.json || fail "evaluate a file"
"$GUST" evaluate --model ml-out --data ml --json >set.json || fail "evaluate a data set"
gzip -k r.test.txt
"$GUST" evaluate --model $m --data r.test.txt.gz --json >gz.json || fail "evaluate gzip"
cmp file.json gz.json || fail "gzip gives other figures"
python3 - <<'PY' || fail "file and data set disagree: $(cat file.json set.json)"
import json
a, b = (json.load(open(n + ".json")) for n in ("file", "set"))
assert a["examples"] == b["examples"] == sum(1 for _ in open("r.test.txt"))
assert abs(a["rmse"] - b["rmse"]) < 1e-9 and abs(a["mae"] - b["mae"]) < 1e-9 and 0.5 < a["rmse"] < 1
PY

# Predictions: one per row, in their order, and of the quality that evaluate says.
"$GUST" predict --model $m --data r.test.txt --out p.txt || fail "predict"
python3 - <<'PY' || fail "predictions are not those that were evaluated"
import json, math
rows = [line.split() for line in open("r.test.txt")]
p = [float(line) for line in open("p.txt")]
assert len(rows) == len(p)
rmse = math.sqrt(sum((x - float(r[2])) ** 2 for x, r in zip(p, rows)) / len(p))
assert abs(rmse - json.load(open("file.json"))["rmse"]) < 1e-6, rmse
PY
# Labels make no difference, nor does a header, another order of columns, or another separator.
cut -d' ' -f1,2 r.test.txt >bare.txt
awk 'BEGIN { print "movieId,rating,userId" } { print $2 "," $3 "," $1 }' r.test.txt >turned.csv
for file in bare.txt turned.csv; do
    "$GUST" predict --model $m --data $file | cmp - p.txt || fail "$file gives other predictions"
done
"$GUST" predict --model $m --data bare.txt --data turned.csv | cmp - "$(cat p.txt p.txt >pp.txt; echo pp.txt)" ||
    fail "two files are not one after the other"
refuse 2 "p.txt exists" "$GUST" predict --model $m --data bare.txt --out p.txt
"$GUST" predict --model $m --data bare.txt --out p.txt --force || fail "predict --force"

# Users and items that nobody has seen: mean and the other's bias, and it is said.
user=$(head -1 r.train.txt | cut -d' ' -f1) item=$(head -1 r.train.txt | cut -d' ' -f2)
printf '%s %s\n4000000 %s\n%s 4000000\n4000000 4000000\n' "$user" "$item" "$item" "$user" >new.txt
"$GUST" predict --model $m --data new.txt --json >new.json 2>err.txt || fail "predict unknown"
grep -q '3 of 4 rows have a user or an item' err.txt || fail "no note: $(cat err.txt)"
python3 - $m "$user" "$item" <<'PY' || fail "wrong predictions for unknown ones: $(cat new.json)"
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
def tensor(name, code):
    a, b = (8 + size + o for o in header[name]["data_offsets"])
    return struct.unpack("<%d%s" % (header[name]["shape"][0], code), data[a:b])
mean = float(header["__metadata__"]["data.label_mean"])
bu = tensor("user_bias", "f")[tensor("user_ids", "q").index(int(sys.argv[2]))]
bi = tensor("item_bias", "f")[tensor("item_ids", "q").index(int(sys.argv[3]))]
got = [json.loads(line) for line in open("new.json")]
assert [g.get("unknown") for g in got] == [None, "user", "item", "both"], got
for g, want in zip(got[1:], (mean + bi, mean + bu, mean)):
    assert abs(g["prediction"] - min(max(want, 0.5), 5)) < 1e-5, (g, want)
PY

# Recommendations: known items in falling order, none of the excluded.
"$GUST" predict --model $m --top 20 --user "$user" >top.txt || fail "recommend"
[ "$(wc -l <top.txt)" = 20 ] || fail "not 20: $(cat top.txt)"
cut -f2 top.txt | sort -rgc || fail "not in order"
"$GUST" predict --model $m --top 20 --user "$user" --exclude r.train.txt >fresh.txt || fail "exclude"
awk -v u="$user" '$1 == u { print $2 }' r.train.txt | sort >rated
cut -f1 fresh.txt | sort | comm -12 - rated | grep -q . && fail "a rated item was recommended"
"$GUST" predict --model $m --top 3 --user 4000000 --json >any.json 2>err.txt || fail "unknown user"
grep -q 'does not know user 4000000' err.txt || fail "nothing said: $(cat err.txt)"
"$GUST" evaluate --model $m --data ml --top 100 | grep -q 'hit-rate@100 *0\.' || fail "no hit rate"

# Clicks: columns by name, texts as labels; probabilities.
python3 - <<'PY'
import random
random.seed(5)
with open("clicks.csv", "w") as f:
    f.write("age,shop,clicked\n")
    for _ in range(4000):
        age, shop = random.randrange(18, 80), random.choice("abcdefgh")
        yes = random.random() < (0.8 if (shop in "abc") == (age < 40) else 0.2)
        f.write(f"{age},{shop},{'yes' if yes else 'no'}\n")
PY
"$GUST" data import csv --in clicks.csv --columns "label=clicked numeric=age categorical=shop" --hash-width 64 \
    --out clicks --quiet >/dev/null 2>err.txt || fail "import csv: $(cat err.txt)"
"$GUST" train --data clicks --model logistic --epochs 5 --out clicks-out --quiet || fail "train clicks"
"$GUST" evaluate --model clicks-out --data clicks.csv | grep -q '^auc' || fail "no auc"
cut -d, -f1,2 clicks.csv >clicks-new.csv
"$GUST" predict --model clicks-out --data clicks-new.csv >p1 || fail "predict clicks"
"$GUST" predict --model clicks-out --data clicks.csv | cmp - p1 || fail "labels changed predictions"
awk '$1 < 0 || $1 > 1 { exit 1 } END { exit NR != 4000 }' p1 || fail "these are no probabilities"
"$GUST" train --data clicks --model softmax --epochs 5 --out soft-out --quiet || fail "train softmax"
"$GUST" predict --model soft-out --data clicks-new.csv | sort -u | tr '\n' ' ' | grep -q '^no yes $' ||
    fail "classes are not named"

# Names and texts in any encoding survive the way through the model.
printf 'gr\366\337e%%,x\n' >latin.csv
for n in 1 2 3 4 5 6 7 8 9; do printf '\344b,%s\n\344%%c,%s\n' $((n % 2)) $((n / 5)); done >>latin.csv
"$GUST" data import csv --in latin.csv --columns "$(printf 'label=x categorical=gr\366\337e%%')" --held-out 0 \
    --out latin --quiet >/dev/null 2>err.txt || fail "import latin: $(cat err.txt)"
"$GUST" train --data latin --model logistic --epochs 2 --out latin-out --quiet || fail "train latin"
[ "$("$GUST" predict --model latin-out --data latin.csv | sort -u | wc -l)" = 2 ] || fail "predict latin"

# ---- what is refused -------------------------------------------------------------------------------
refuse 2 "model FILE is missing" "$GUST" predict --data bare.txt
refuse 2 "say what to predict" "$GUST" predict --model $m
refuse 2 "both --top N and --user ID" "$GUST" predict --model $m --top 5
refuse 2 "two different questions" "$GUST" predict --model $m --top 5 --user 1 --data bare.txt
refuse 2 "'me' is no user's id" "$GUST" predict --model $m --top 5 --user me
refuse 2 "users and items; this one is 'logistic'" "$GUST" predict --model clicks-out --top 5 --user 1
refuse 2 "users and items" "$GUST" evaluate --model clicks-out --data clicks --top 5
refuse 2 "cannot read the model nothing" "$GUST" predict --model nothing --data bare.txt
refuse 2 "cannot read nothing.txt" "$GUST" predict --model $m --data nothing.txt
refuse 2 "neither test nor train" "$GUST" evaluate --model $m --data ml --split all
refuse 2 "not of the model's kind" "$GUST" evaluate --model $m --data clicks
refuse 2 "no label\|expected 3\|userId" "$GUST" evaluate --model $m --data bare.txt
: >none.txt; refuse 2 "none.txt holds no examples" "$GUST" evaluate --model $m --data none.txt
printf '1 2 3\n1 x 3\n' >bad.txt
"$GUST" predict --model $m --data bad.txt --out bad.out 2>err.txt
[ $? = 2 ] && grep -q "bad.txt:2: expected an item's id" err.txt || fail "bad row: $(cat err.txt)"
[ ! -e bad.out ] && [ ! -e bad.out.partial ] || fail "half a file of predictions"

# A model that is cut, foreign, of another kind or version, garbled or has diverged.
head -c 100 $m >cut1; refuse 2 "cut off" "$GUST" predict --model cut1 --data bare.txt
head -c 20000 $m >cut2; refuse 2 "cut off" "$GUST" predict --model cut2 --data bare.txt
refuse 2 "it is no model" "$GUST" predict --model r.test.txt --data bare.txt
: >empty; refuse 2 "it is no model" "$GUST" evaluate --model empty --data bare.txt
python3 - $m <<'PY'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header, rest = json.loads(data[8:8 + size]), data[8 + size:]
def write(name, header, rest):
    text = json.dumps(header).encode()
    open(name, "wb").write(struct.pack("<Q", len(text)) + text + rest)
def meta(**changes):
    return dict(header, __metadata__={k: v for k, v in dict(header["__metadata__"], **changes).items() if v})
write("version", meta(gust_model="2"), rest)
write("kind", meta(model="forest"), rest)
write("foreign", {k: v for k, v in header.items() if k != "__metadata__"}, rest)
write("rank", dict(header, __metadata__=dict(header["__metadata__"], **{"setting.rank": "7"})), rest)
at = header["item_bias"]["data_offsets"][0]
write("nan", header, rest[:at] + struct.pack("<f", float("nan")) + rest[at + 4:])
open("garbled", "wb").write(data[:30] + b"\xff\x00garbage" + data[39:])
PY
refuse 2 "version '2'; this program reads version 1" "$GUST" predict --model version --data bare.txt
refuse 2 "kind 'forest'; this program knows" "$GUST" predict --model kind --data bare.txt
refuse 2 "not of a model that Gust saved" "$GUST" predict --model foreign --data bare.txt
refuse 2 "'user_factors' has the shape" "$GUST" predict --model rank --data bare.txt
refuse 2 "row 0 of 'item_bias' holds a value that is not a finite number" "$GUST" predict --model nan --data bare.txt
refuse 2 "garbled" "$GUST" predict --model garbled --data bare.txt
echo "models: ok"
