#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a run leaves: files that explain it, and nothing in the way of other files.
set -u
fail() { echo "FAILED: $*" >&2; exit 1; }

"$GUST" data generate movielens --rows 200000 --out ml >/dev/null || fail "generate"
"$GUST" train --data ml --epochs 4 --out a >a.txt || fail "train: $(cat a.txt)"

# Not on a terminal: plain lines.
! grep -q "$(printf '\033')" a.txt || fail "escape codes in a file"
[ "$(grep -c '^ *[1-4]\.00 ' a.txt)" = 4 ] || fail "not a line per evaluation: $(cat a.txt)"
"$GUST" train --data ml --epochs 1 --out quiet --quiet >q.txt || fail "quiet"
[ ! -s q.txt ] || fail "--quiet is not: $(cat q.txt)"

python3 - a <<'PY' || fail "summary, events or report are not right"
import html.parser, json, re, sys
folder = sys.argv[1]
s = json.load(open(f"{folder}/summary.json"))
assert s["status"] == "done" and s["end"] == "limit" and s["saved"] and s["model"] == "factorisation"
assert s["steps"] == s["model_step"] == s["evaluations"][-1]["step"] and len(s["evaluations"]) == 4
assert s["best"] == min(s["evaluations"], key=lambda e: e["rmse"])
assert abs(sum(i["amount_usd"] for i in s["bill"]["items"]) - s["bill_usd"]) < 1e-12 and s["bill"]["as_if"]
assert sum(s["need"].values()) == s["need_bytes"] and s["settings"]["stop.epochs"] == "4"
busy = sum(s["function_seconds"].values())
assert 0.3 * 2 * s["seconds_training"] < busy < 3 * 2 * s["seconds_training"], (busy, s["seconds_training"])

events = [json.loads(line) for line in open(f"{folder}/events.jsonl")]
names = [e["event"] for e in events]
assert names[:2] == ["started", "ready"] and names[-1] == "saved", names
assert names.count("evaluation") == 4 and names.count("exit") == 2 and names.count("stop") == 1
assert names.count("base") >= 1 and names.count("steps") >= 1
at = [e["at"] for e in events]
assert at == sorted(at) and at[0] >= 0
steps = [e["step"] for e in events if e["event"] == "steps"]
assert steps == sorted(steps) and steps[-1] <= s["steps"]
rmse = [e["metrics"]["rmse"] for e in events if e["event"] == "evaluation"]
assert rmse == [e["rmse"] for e in s["evaluations"]]

page = open(f"{folder}/report.html", encoding="utf-8").read()
loads = re.findall(r'(?:src|href)\s*=|@import|url\(|<script|<link|https?://', page)
assert not loads, loads
assert page.count("<svg") >= 4 and page.count("<circle class=\"dot") == 2 * 4
assert not re.search(r'(?:nan|inf)\b', re.sub(r"<style>.*?</style>", "", page, flags=re.S), re.I)
for word in ("training loss", "examples per second", "Where the time of a step goes", "Bill", "Memory", "Settings"):
    assert word in page, word
class Balance(html.parser.HTMLParser):
    open = []
    def handle_starttag(self, tag, attrs):
        if tag not in ("meta",): self.open.append(tag)
    def handle_startendtag(self, tag, attrs): pass
    def handle_endtag(self, tag): assert self.open.pop() == tag, (tag, self.getpos())
b = Balance(); b.feed(page); assert b.open == [], b.open
PY

# The job as it ran gives the same model again, and names that mean something in HTML stay names.
mkdir '<b>&"' && cp -r ml '<b>&"/x<i>' || fail "mkdir"
sed 's/"a"/"again"/' a/job.yaml >again.yaml
"$GUST" train again.yaml --quiet || fail "job.yaml cannot be run"
python3 - <<'PY' || fail "job.yaml gives another model"
import struct
def tensors(name):
    data = open(f"{name}/model.safetensors", "rb").read()
    return data[8 + struct.unpack("<Q", data[:8])[0]:]
assert tensors("a") == tensors("again")
PY
"$GUST" train --data '<b>&"/x<i>' --epochs 1 --out named --quiet || fail "train"
grep -q 'x&lt;i&gt;' named/report.html && ! grep -q '<i>' named/report.html || fail "names are not escaped"

# gust report: the page again from the other two; --json is the summary.
cp a/report.html page.html && rm a/report.html
"$GUST" report a >r.txt || fail "report"
cmp page.html a/report.html || fail "the page came out otherwise"
grep -q '^Done: rmse 0\.' r.txt && grep -q '^  total' r.txt || fail "report says: $(cat r.txt)"
"$GUST" report --json a/report.html | cmp - a/summary.json || fail "report --json"

# refuse STATUS PATTERN COMMAND...
refuse() {
    want=$1 pattern=$2
    shift 2
    "$@" >out.txt 2>err.txt
    got=$?
    [ $got = "$want" ] || fail "status $got instead of $want for: $* ($(cat err.txt))"
    grep -q -- "$pattern" err.txt || fail "no '$pattern' in: $(cat err.txt)"
    [ "$(wc -l <err.txt)" = 1 ] || fail "more than one line: $(cat err.txt)"
}
refuse 2 "is not the folder of a job" "$GUST" report ml
refuse 2 "is not the folder of a job" "$GUST" report nowhere
refuse 2 "say which job" "$GUST" report
refuse 2 "is not running: done" "$GUST" stop a
refuse 2 "there is no folder" "$GUST" jobs nowhere
mkdir broken && echo '{"gust_summary":1,' >broken/summary.json
refuse 2 "broken/summary.json cannot be used" "$GUST" report broken
echo '{"status":"done"}' >broken/summary.json
refuse 2 "not the summary of a job" "$GUST" report broken
"$GUST" jobs broken | grep -q 'damaged' || fail "jobs with a damaged one"

# A folder that holds something else is left alone.
mkdir other && echo precious >other/notes.txt
refuse 2 "it holds 'notes.txt'" "$GUST" train --data ml --epochs 1 --out other
[ "$(ls other)" = notes.txt ] || fail "something was put into it: $(ls other)"
"$GUST" train --data ml --epochs 1 --out other --force --quiet || fail "--force"
[ "$(cat other/notes.txt)" = precious ] && [ -f other/model.safetensors ] || fail "--force"

# gust jobs: newest first, with what each came to.
"$GUST" jobs --json . >jobs.json || fail "jobs --json"
python3 - <<'PY' || fail "jobs are not right: $(cat jobs.json)"
import json
jobs = json.load(open("jobs.json"))
by = {j["job"]: j for j in jobs}
assert set(by) == {"a", "again", "broken", "named", "other", "quiet"}, list(by)
assert [j["began"] for j in jobs] == sorted((j["began"] for j in jobs), reverse=True)
s = json.load(open("a/summary.json"))
assert by["a"]["quality"] == s["evaluations"][-1]["rmse"] and by["a"]["bill_usd"] == s["bill_usd"]
assert by["broken"]["status"] == "damaged" and by["a"]["status"] == "done"
PY
