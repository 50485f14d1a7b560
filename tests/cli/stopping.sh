#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How runs end before their limit: no longer better, Ctrl-C once and twice, gust stop.
set -u
fail() { echo "FAILED: $*" >&2; exit 1; }

"$GUST" data generate movielens --rows 200000 --out ml >/dev/null || fail "generate"

# Early stop: the model saved is that of the best evaluation, bit for bit.
"$GUST" train --data ml --epochs 60 --patience 3 --set l2=0 --out early --json >early.json || fail "patience"
best=$(python3 - <<'PY'
import json
s = json.load(open("early.json"))
assert s["end"] == "patience" and s["epochs"] < 60, (s["end"], s["epochs"])
values = [e["rmse"] for e in s["evaluations"]]
at = values.index(min(values))
assert s["model_step"] == s["best"]["step"] == s["evaluations"][at]["step"]
assert 3 <= len(values) - 1 - at and at > 0
print(s["model_step"])
PY
) || fail "the best was not kept: $(cat early.json)"
[ "$(ls early | grep -c base)" = 0 ] || fail "bases were left: $(ls -R early)"
"$GUST" train --data ml --steps "$best" --set l2=0 --out straight --quiet || fail "train"
python3 - <<'PY' || fail "the model is not that of the best evaluation"
import struct
def tensors(name):
    data = open(f"{name}/model.safetensors", "rb").read()
    return data[8 + struct.unpack("<Q", data[:8])[0]:]
assert tensors("early") == tensors("straight")
PY

# Evaluations closer together than reports: still the best of all of them.
"$GUST" train --data ml --epochs 3 --evaluate-every 1 --patience 1000 --out every --json >every.json || fail "every"
python3 - <<'PY' || fail "the best of many was not kept"
import json
s = json.load(open("every.json"))
best = min(s["evaluations"], key=lambda e: e["rmse"])
assert s["model_step"] == best["step"] and len(s["evaluations"]) == s["steps"], (s["model_step"], best)
PY

# Warm start: training goes on from where it was.
"$GUST" train --data ml --epochs 1 --start straight --out warm --json >warm.json || fail "start"
python3 - <<'PY' || fail "it did not go on from the model"
import json
cold = json.load(open("early.json"))["evaluations"][0]["rmse"]
warm = json.load(open("warm.json"))["evaluations"][0]["rmse"]
assert warm < cold - 0.02, (warm, cold)
PY

cat >interrupt.py <<'PY'
import json, os, signal, subprocess, sys, time
gust, how = os.environ["GUST"], sys.argv[1]
out = "stopped-" + how
p = subprocess.Popen([gust, "train", "--data", "ml", "--time", "60", "--epochs", "1e6", "--out", out],
                     stdout=open("p.txt", "w"), stderr=subprocess.STDOUT)
def started():
    try:
        return "evaluation" in open("p.txt").read() or open("p.txt").read().count("\n") > 8
    except OSError:
        return False
end = time.time() + 20
while not (started() and os.path.exists(out + "/events.jsonl")) and time.time() < end:
    time.sleep(0.01)
listed = json.loads(subprocess.check_output([gust, "jobs", "--json"]))
assert [j["status"] for j in listed if j["job"] == out] == ["running"], listed
# Nobody else may use the folder meanwhile, asked or not.
r = subprocess.run([gust, "train", "--data", "ml", "--out", out, "--force"], capture_output=True, text=True)
assert r.returncode == 2 and "a job is running" in r.stderr, r
assert [j["quality"] > 0 and j["steps"] > 0 for j in listed if j["job"] == out] == [True], listed
if how == "failed":
    # One of its functions is killed.
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)
        except OSError:
            continue
        if int(fields[1].split()[1]) == p.pid and "gust-worker" in fields[0]:
            os.kill(int(pid), signal.SIGKILL)
            break
    assert p.wait(10) == 4, p.returncode
    summary = json.load(open(out + "/summary.json"))
    assert summary["status"] == "failed" and "ended" in summary["error"], summary["error"]
    assert summary["saved"] and summary["bill_usd"] > 0 and os.path.exists(out + "/report.html")
    events = [json.loads(line) for line in open(out + "/events.jsonl")]
    assert sum(e["event"] == "exit" for e in events) == 2
    sys.exit(0)
if how == "stop":
    r = subprocess.run([gust, "stop", out], capture_output=True, text=True)
    assert r.returncode == 0 and r.stdout.startswith("Stopped: rmse"), r
else:
    p.send_signal(signal.SIGINT)
    if how == "twice":
        time.sleep(0.002)
        p.send_signal(signal.SIGINT)
assert p.wait(10) == 130, p.returncode
summary = json.load(open(out + "/summary.json"))
listed = json.loads(subprocess.check_output([gust, "jobs", "--json", out]))
if how == "twice":
    assert not os.path.exists(out + "/model.safetensors") and listed[0]["status"] == "died", listed
else:
    assert summary["status"] == "interrupted" and summary["saved"] and summary["bill_usd"] > 0
    assert os.path.exists(out + "/model.safetensors") and os.path.exists(out + "/report.html")
    assert "Bill as if on" in open("p.txt").read()
    assert json.loads(open(out + "/events.jsonl").readlines()[-1])["event"] == "saved"
PY
for how in once twice stop failed; do
    python3 interrupt.py $how || fail "interrupted, $how: $(tail -5 p.txt)"
done

# What a killed client left does not stand in the way.
"$GUST" train --data ml --epochs 1 --out stopped-twice --quiet || fail "a folder of a dead job"

# On a terminal no line is wider than it, and the status line is wiped in the end.
cat >terminal.py <<'PY'
import fcntl, os, pty, re, struct, sys, termios
for columns in (40, 60, 80, 132):
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execv(os.environ["GUST"], ["gust", "train", "--data", "ml", "--epochs", "20", "--patience", "9",
                                      "--workers", "1", "--out", f"tty-{columns}"])
    text = b""
    while True:
        try:
            got = os.read(fd, 65536)
        except OSError:
            break
        if not got:
            break
        text += got
    assert os.waitpid(pid, 0)[1] == 0, text
    text = text.decode()
    table = text[text.index("epoch"):text.index("Done:") if "Done:" in text else text.index("Stopped early:")]
    rows = [re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", row) for row in re.split(r"[\r\n]+", table)]
    assert max(map(len, rows)) < columns, (columns, [r for r in rows if len(r) >= columns])
    assert "\r\x1b[K" in table and any("loss" in r and "epoch" in r and "step" not in r[:8] for r in rows), rows
PY
python3 terminal.py || fail "lines on a terminal"
