#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A person's first minutes: generate, train, train again, look at what came out.
set -eu
fail() { echo "FAILED: $*" >&2; exit 1; }

"$GUST" data generate movielens --rows 300000 --out ml >/dev/null
"$GUST" data generate criteo --rows 60000 --out cr >/dev/null

# Trains, reports quality and bill, and leaves a model that is what its header says.
"$GUST" train --data ml --epochs 3 --out a >a.txt
grep -q '^Done: rmse 0\.[789]' a.txt || fail "no quality: $(cat a.txt)"
grep -q '^Bill as if on AWS Lambda' a.txt || fail "no bill"
python3 - a/model.safetensors <<'PY' || fail "the model file is not right"
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
assert header["__metadata__"]["model"] == "factorisation"
end = max(t["data_offsets"][1] for k, t in header.items() if k != "__metadata__")
assert 8 + size + end == len(data), (size, end, len(data))
for name in ("user_factors", "item_factors"):
    t = header[name]
    rows, cols = t["shape"]
    assert cols == int(header["__metadata__"]["setting.rank"]) == 20
    assert t["dtype"] == "F32" and t["data_offsets"][1] - t["data_offsets"][0] == 4 * rows * cols
    first = struct.unpack_from("<%df" % cols, data, 8 + size + t["data_offsets"][0])
    assert any(first) and all(abs(x) < 100 for x in first)
PY

# The same seed gives the same bytes, however often; another seed does not.
"$GUST" train --data ml --epochs 3 --out b --quiet
cmp a/model.safetensors b/model.safetensors || fail "the same run gave another model"
"$GUST" train --data ml --epochs 3 --out c --quiet --seed 2
! cmp -s a/model.safetensors c/model.safetensors || fail "another seed gave the same model"

# Nothing but what explains the model is left of a run.
[ "$(echo $(ls a))" = "events.jsonl job job.yaml model.safetensors report.html summary.json" ] ||
    fail "left behind: $(ls a)"

# Every instruction level gives the same bytes.
for level in sse2 avx2 avx512; do
    if "$GUST" train --data ml --epochs 3 --out "l-$level" --quiet --set kernels=$level 2>err.txt; then
        python3 - a/model.safetensors "l-$level/model.safetensors" <<'PY' || fail "$level gives other bits"
import struct, sys
a, b = (open(name, "rb").read() for name in sys.argv[1:])
tensors = lambda data: data[8 + struct.unpack("<Q", data[:8])[0]:]
assert tensors(a) == tensors(b)
PY
    else
        grep -q "this CPU has no '$level'" err.txt || fail "$level: $(cat err.txt)"
    fi
done

# Quality is the same for every fleet, to rounding.
for n in 1 2 4 8; do
    "$GUST" train --data ml --epochs 2 --workers $n --memory 442 --out w$n --json >w$n.json
    "$GUST" train --data cr --model logistic --epochs 2 --workers $n --memory 442 --out v$n --json >v$n.json
done
python3 - <<'PY' || fail "fleets disagree"
import json
for prefix, metric in (("w", "rmse"), ("v", "log-loss")):
    runs = [json.load(open(f"{prefix}{n}.json")) for n in (1, 2, 4, 8)]
    for r in runs[1:]:
        assert len(r["evaluations"]) == len(runs[0]["evaluations"])
        for a, b in zip(runs[0]["evaluations"], r["evaluations"]):
            assert a["step"] == b["step"]
            assert abs(a[metric] - b[metric]) < 1e-5, (a, b)
            assert abs(a["loss_train"] - b["loss_train"]) < 1e-5, (a, b)
PY

# A target ends a run early and is met; one that cannot be met is exit status 3 with a model.
"$GUST" train --data ml --epochs 50 --target 0.9 --out t --json >t.json
python3 -c 'import json; r = json.load(open("t.json")); assert r["end"] == "target" and r["epochs"] < 50'
set +e
"$GUST" train --data ml --epochs 1 --target 0.1 --out u --quiet 2>err.txt
status=$?
set -e
[ $status = 3 ] && [ -f u/model.safetensors ] || fail "missed target: status $status"

# A function's heap stays within what was planned before it started.
python3 - <<'PY' || fail "a function used more memory than planned"
import json
for n in (1, 2, 4, 8):
    for prefix in "wv":
        r = json.load(open(f"{prefix}{n}.json"))
        assert 0 < r["heap_bytes"] <= r["need_bytes"], (prefix, n, r["heap_bytes"], r["need_bytes"])
PY

# The loss of every single step is the same for every fleet, to rounding.
for n in 1 2 4 8; do
    "$GUST" train --data ml --steps 12 --evaluate-every 1 --workers $n --memory 442 --out s$n --json >s$n.json
done
python3 - <<'PY' || fail "fleets disagree about the loss of a step"
import json
runs = [json.load(open(f"s{n}.json"))["evaluations"] for n in (1, 2, 4, 8)]
assert len(runs[0]) == 12
for r in runs[1:]:
    assert all(abs(a["loss_train"] - b["loss_train"]) < 1e-6 * a["loss_train"] for a, b in zip(runs[0], r))
PY
