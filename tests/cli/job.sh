#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Job files from outside: what they run, what overrides them, and what is said about bad ones.
set -u
fail() { echo "FAILED: $*" >&2; exit 1; }

# refuse PATTERN COMMAND...: exit status 2, something that matches on standard error, nothing on
# standard output.
refuse() {
    pattern=$1
    shift
    "$@" >out.txt 2>err.txt
    got=$?
    [ $got = 2 ] || fail "status $got for: $* ($(cat err.txt))"
    grep -q -- "$pattern" err.txt || fail "no '$pattern' in: $(cat err.txt)"
    [ ! -s out.txt ] || fail "printed: $(cat out.txt)"
}

"$GUST" data generate movielens --rows 20000 --out ml >/dev/null || fail "generate"
cat >job.yaml <<'YAML'
model: { kind: factorisation, rank: 8 }
data: ml
fleet:
  workers: 3
  memory: 442MB
stop:
  epochs: 1
out: a
YAML

# A job file trains what options would have trained, to the byte.
"$GUST" train job.yaml --quiet || fail "train"
"$GUST" train --data ml --set rank=8 --workers 3 --memory 442 --epochs 1 --out b --quiet || fail "options"
cmp a/model.safetensors b/model.safetensors || fail "file and options gave different models"
"$GUST" train - --out c --quiet <job.yaml || fail "standard input"
cmp a/model.safetensors c/model.safetensors || fail "standard input gave another model"

# Checking says what would be run, from where each value comes, and creates nothing.
"$GUST" check job.yaml --out nowhere --set fleet.workers=2 >check.txt || fail "check"
[ ! -e nowhere ] || fail "checking made a folder"
for line in 'fleet.workers  *2  *--set' 'model.rank  *8  *line 1' 'out.folder  *nowhere  *--out' \
    'training.seed  *1  *default' 'optimiser.kind  *adagrad-row  *for factorisation'; do
    grep -q "^  $line\$" check.txt || fail "no '$line' in: $(cat check.txt)"
done
"$GUST" check job.yaml --json | python3 -c '
import json, sys
r = json.load(sys.stdin)
assert r["valid"] and r["problems"] == [] and r["workers"] == 3 and r["memory_mb"] == 442
assert r["settings"]["stop.epochs"] == {"value": "1", "from": "line 7"}' || fail "check --json"

# Every mistake is told at once, as compilers do.
cat >bad.yaml <<'YAML'
model: factorization
data: ml
fleet:
  wrokers: 3
  memory: 64MB
training: { batch: 10, batch_per_worker: 10 }
stop:
  epochs: none
YAML
refuse "^bad.yaml:1: model.kind: there is no 'factorization'; did you mean 'factorisation'?" \
    "$GUST" train bad.yaml
for line in "4: fleet.wrokers: there is no such setting; did you mean 'workers'?" \
    "5: fleet.memory: 64MB is too small; it must be at least 128MB" \
    "6: training.batch_per_worker: contradicts training.batch (line 6)" \
    "8: stop.epochs: 'none' is not a number"; do
    grep -q "^bad.yaml:$line" err.txt || fail "no '$line' in: $(cat err.txt)"
done
grep -q '5 mistakes; nothing was started' err.txt || fail "not counted: $(cat err.txt)"
[ ! -e out ] || fail "a bad job made a folder"
"$GUST" check bad.yaml --json >bad.json && fail "a bad job is valid"
python3 -c '
import json
r = json.load(open("bad.json"))
assert not r["valid"] and [p["line"] for p in r["problems"]] == [1, 4, 5, 6, 8]' || fail "bad.json"

# Raw files are imported once, and a data set takes no settings about raw files.
{ echo user,item,rating; awk 'BEGIN { srand(1); for (i = 0; i < 3000; i++) print int(50 * rand()) "," int(40 * rand()) "," int(1 + 5 * rand()) }'; } >ratings.csv
"$GUST" check --data ratings.csv --epochs 1 >check.txt || fail "check of raw data"
grep -q "^Would import 'ratings.csv'" check.txt || fail "raw data: $(cat check.txt)"
[ ! -e .gust ] || fail "checking imported"
"$GUST" train --data ratings.csv --epochs 1 --out raw --quiet || fail "train on raw data"
[ -s raw/model.safetensors ] && [ -d .gust/data ] || fail "nothing was imported"
"$GUST" train --data ratings.csv --epochs 1 --out raw2 >out.txt 2>err.txt || fail "again: $(cat err.txt)"
[ "$(ls .gust/data | wc -l)" = 1 ] || fail "imported twice: $(ls .gust/data)"
cmp raw/model.safetensors raw2/model.safetensors || fail "the second import gave another model"
refuse "data.format is about raw examples" "$GUST" train --data ml --set data.format=csv --out no
refuse "missing.csv" "$GUST" check --data ratings.csv --set data.test=missing.csv

# A job may start from a model: it is better at once than one that starts from nothing.
"$GUST" train --data ml --epochs 1 --start a --set rank=8 --out warm --json >warm.json || fail "--start"
"$GUST" train --data ml --epochs 1 --set rank=8 --out cold --json >cold.json || fail "cold"
python3 -c '
import json
warm, cold = (json.load(open(n))["evaluations"][0]["loss_train"] for n in ("warm.json", "cold.json"))
assert warm < cold, (warm, cold)' || fail "starting from a model did not help"
refuse "cannot read the model" "$GUST" train --data ml --start nowhere --out no
refuse "" "$GUST" train --data ml --start ratings.csv --out no

# What data, model and fleet say to one another is checked too.
refuse "data.path: .*nothing" "$GUST" check job.yaml --data nothing
refuse "lanes" "$GUST" check job.yaml --workers 2000
refuse "labels of two classes" "$GUST" check job.yaml --model logistic
refuse "is more than the .* examples" "$GUST" check job.yaml --batch 1M

# Files that are not job files.
refuse "No such file" "$GUST" train missing.yaml
refuse "it is a folder" "$GUST" train ml
: >empty.yaml
refuse "there is nothing in it" "$GUST" train empty.yaml
head -c 4096 "$GUST" >garbage.yaml
refuse "not text in UTF-8" "$GUST" train garbage.yaml
head -c 2000000 /dev/zero | tr '\0' '#' >huge.yaml
refuse "too large for a job file" "$GUST" train huge.yaml
head -c 100000 /dev/zero | tr '\0' '[' >deep.yaml
refuse "nested more than" "$GUST" train deep.yaml
printf 'data: &d ml\nout: *d\n' >alias.yaml
refuse "alias.yaml:2: the alias '\*d' is not allowed" "$GUST" train alias.yaml
printf 'data: ml\ndata: ml\n' >twice.yaml
refuse "twice.yaml:2: 'data' is given again (first in line 1)" "$GUST" train twice.yaml
printf '1::2::5::978300760\n1::3::4::978300761\n' >ratings.dat
refuse "this is not a job file" "$GUST" train ratings.dat
refuse "one word too many" "$GUST" train job.yaml job.yaml

# Line ends and a byte order mark do not matter.
{ printf '\357\273\277data: ml\r\nstop: { epochs: 1 }\nfleet:\r\n  workers: 3\r\n'; } >dos.yaml
"$GUST" check dos.yaml >dos.txt || fail "dos.yaml"
grep -q 'fleet.workers  *3  *line 4' dos.txt || fail "dos.yaml: $(cat dos.txt)"

# Help finds settings as people write them.
"$GUST" help job fleet.workers | grep -q '^  takes     a whole number from 1 to' || fail "help job"
"$GUST" help job workers | grep -q '^fleet.workers$' || fail "help job workers"
"$GUST" help job stop | grep -q '^  target ' || fail "help job stop"
refuse "did you mean 'fleet.workers'?" "$GUST" help job wrokers
refuse "there is no command 'trian'; did you mean 'train'?" "$GUST" help trian
"$GUST" help job | awk 'length > 80 { exit 1 }' || fail "help job is wider than 80 columns"
