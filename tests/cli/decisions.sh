#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What ends a run: decisions fall at the same step whenever reports come, and are told truly.
set -eu
fail() { echo "FAILED: $*" >&2; exit 1; }

"$GUST" data generate criteo --rows 60000 --out cr >/dev/null
"$GUST" data generate criteo --rows 3000 --out small >/dev/null

# The same seed gives the same model also when a target or patience ends the run.
for i in 1 2 3; do
    "$GUST" train --data cr --model logistic --epochs 60 --target 0.5 --evaluate-every 7 --out t$i --quiet
    "$GUST" train --data cr --model logistic --epochs 60 --patience 3 --evaluate-every 20 --out p$i --quiet
done
for i in 2 3; do
    cmp t1/model.safetensors t$i/model.safetensors || fail "a target ended the same job elsewhere"
    cmp p1/model.safetensors p$i/model.safetensors || fail "patience ended the same job elsewhere"
done

# A target that the last evaluation reaches was reached.
quality=$("$GUST" train --data cr --model logistic --epochs 2 --out q --json |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["evaluations"][-1]["log-loss"] + 1e-6)')
"$GUST" train --data cr --model logistic --epochs 2 --target "$quality" --out r --quiet || fail "status $?"

# Evaluating after every one of many short steps is a lot of reports, and no reason to fail.
"$GUST" train --data small --model logistic --steps 3000 --batch 60 --evaluate-every 1 --workers 3 \
    --memory 442 --out s --json >s.json
python3 -c 'import json; assert len(json.load(open("s.json"))["evaluations"]) == 3000' || fail "evaluations are missing"

# A run of few, long steps can be interrupted too, soon, and is told as such.
"$GUST" data generate criteo --rows 250000 --out big >/dev/null
"$GUST" train --data big --model logistic --batch 200000 --steps 600 --workers 1 --memory 442 --out i --quiet &
pid=$!
sleep 0.5
kill -TERM $pid
status=0
wait $pid || status=$?
[ $status = 130 ] || fail "interrupted: status $status"
python3 -c 'import json; assert json.load(open("i/summary.json"))["steps"] < 300' || fail "not stopped early"

# Folders may be called as people like.
"$GUST" train --data small --model logistic --steps 5 --out 'x #y: "z"' --quiet || fail "odd folder name"
[ -f 'x #y: "z"/model.safetensors' ] && [ ! -e x ] || fail "odd folder name: $(ls)"
