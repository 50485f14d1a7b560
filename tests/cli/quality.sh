#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Quality on real data is that of reference programs, to three digits. The data sets are looked for
# in GUST_REAL_DATA, or in a folder `data` beside the source: a9a/a9a and a9a/a9a.t,
# mushrooms/mushrooms, movietweetings-100k/ratings.dat. Without them the test is skipped.
set -eu
fail() { echo "FAILED: $*" >&2; exit 1; }

data=${GUST_REAL_DATA:-}
for folder in "$SOURCE"/../*/data; do
    [ -n "$data" ] || [ ! -f "$folder/a9a/a9a" ] || data=$folder
done
for file in a9a/a9a a9a/a9a.t mushrooms/mushrooms movietweetings-100k/ratings.dat; do
    [ -n "$data" ] && [ -f "$data/$file" ] || { echo "skipped: there is no $file (GUST_REAL_DATA)"; exit 77; }
done

# near FILE KEY VALUE TOLERANCE
near() {
    python3 - "$@" <<'PY' || fail "$1: $2 is $(cat "$1"), expected $3"
import json, sys
got = json.load(open(sys.argv[1]))[sys.argv[2]]
sys.exit(abs(got - float(sys.argv[3])) > float(sys.argv[4]))
PY
}

# Whole batches with Nesterov's momentum come close to the optimum, as scikit-learn's solver does.
logistic() { # logistic SET EPOCHS L2 EXAMPLES
    "$GUST" train --data "$1" --model logistic --epochs "$2" --batch "$4" --rate 0.4 --evaluate-every 100000 \
        --set optimiser.kind=nesterov --set optimiser.momentum=0.98 --set optimiser.reduce=mean \
        --set model.l2="$3" --out "$1-model" --quiet
}

# tests/reference/classes.py a9a a9a.t (scikit-learn 1.9):
# l2 3.07116e-05, log-loss 0.324065, accuracy 0.849764, auc 0.902217
"$GUST" data import libsvm --in "$data/a9a/a9a" --test "$data/a9a/a9a.t" --out a9a --quiet >/dev/null
logistic a9a 500 3.07116e-05 32561
"$GUST" evaluate --model a9a-model --data "$data/a9a/a9a.t" --json >a9a.json
near a9a.json examples 16281 0
near a9a.json log-loss 0.324065 0.0005
near a9a.json accuracy 0.849764 0.0005
near a9a.json auc 0.902217 0.0005
# The data set gives what the file does, compressed or not.
"$GUST" evaluate --model a9a-model --data a9a --json >set.json
near set.json log-loss "$(python3 -c 'import json; print(json.load(open("a9a.json"))["log-loss"])')" 1e-6
gzip -c "$data/a9a/a9a.t" >a9a.t.gz
"$GUST" evaluate --model a9a-model --data a9a.t.gz --json >packed.json
cmp a9a.json packed.json || fail "a compressed file gives other figures"

# tests/reference/classes.py mushrooms mushrooms:
# l2 0.000123092, log-loss 0.005121, accuracy 1.000000, auc 1.000000
"$GUST" data import libsvm --in "$data/mushrooms/mushrooms" --held-out 0 --out mushrooms --quiet >/dev/null
logistic mushrooms 2000 0.000123092 8124
"$GUST" evaluate --model mushrooms-model --data "$data/mushrooms/mushrooms" --json >mushrooms.json
near mushrooms.json log-loss 0.005121 0.0001
near mushrooms.json accuracy 1 0
near mushrooms.json auc 1 0.0005

# tests/reference/ratings.py train.dat test.dat 1.5 2 60: rmse 1.660973, mae 1.255818
awk 'NR % 10 == 0' "$data/movietweetings-100k/ratings.dat" >test.dat
awk 'NR % 10 != 0' "$data/movietweetings-100k/ratings.dat" >train.dat
"$GUST" data import movielens --in train.dat --held-out 0 --out ratings --quiet >/dev/null
"$GUST" train --data ratings --epochs 300 --batch 90000 --evaluate-every 100000 --set model.rank=2 \
    --set model.l2_user=1.5 --set model.l2_item=1.5 --set optimiser.decay=0.01 --out ratings-model --quiet
"$GUST" evaluate --model ratings-model --data test.dat --json >ratings.json
near ratings.json rmse 1.660973 0.0005
near ratings.json mae 1.255818 0.0005
near ratings.json examples 10000 0

# With less regularisation there are many optima; descent finds no worse one than least squares does:
# tests/reference/ratings.py train.dat test.dat 0.5 5 30: rmse 1.589071, mae 1.179862
"$GUST" train --data ratings --epochs 60 --batch 5000 --evaluate-every 100000 --set model.rank=5 \
    --set model.l2_user=0.5 --set model.l2_item=0.5 --out ratings-model --force --quiet
"$GUST" evaluate --model ratings-model --data test.dat --top 1000 --relevant 8 --json >ratings.json
python3 - <<'PY' || fail "factors: $(cat ratings.json)"
import json
r = json.load(open("ratings.json"))
assert 1.5 < r["rmse"] < 1.590, r
assert r["unknown"] > 0 and 0 < r["hit-rate@1000"] < 1 and 1000 < r["relevant"] < 10000, r
PY

# The same figures from nothing but the model's tensors and the raw file.
python3 - <<'PY' || fail "the tensors say something else than gust evaluate"
import json, math, struct
data = open("ratings-model/model.safetensors", "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
def tensor(name):
    t = header[name]
    a, b = (8 + size + offset for offset in t["data_offsets"])
    return struct.unpack("<%d%s" % (math.prod(t["shape"]), {"F32": "f", "I64": "q"}[t["dtype"]]), data[a:b])
meta = header["__metadata__"]
mean, low, high = (float(meta["data.label_" + k]) for k in ("mean", "min", "max"))
rank = int(meta["setting.rank"])
users = {u: r for r, u in enumerate(tensor("user_ids"))}
items = {i: r for r, i in enumerate(tensor("item_ids"))}
bu, bi, p, q = (tensor(n) for n in ("user_bias", "item_bias", "user_factors", "item_factors"))
squares, rows, unknown = 0.0, 0, 0
for line in open("test.dat"):
    user, item, rating = line.split("::")[:3]
    u, i = users.get(int(user)), items.get(int(item))
    guess = mean + (bu[u] if u is not None else 0) + (bi[i] if i is not None else 0)
    if u is not None and i is not None:
        guess += sum(p[u * rank + k] * q[i * rank + k] for k in range(rank))
    unknown += u is None or i is None
    squares += (min(max(guess, low), high) - float(rating)) ** 2
    rows += 1
r = json.load(open("ratings.json"))
assert unknown == r["unknown"], (unknown, r)
assert abs(math.sqrt(squares / rows) - r["rmse"]) < 1e-5, (math.sqrt(squares / rows), r)
PY
echo "quality: ok"
