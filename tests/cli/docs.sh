#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The documents that are made from tables are what the tables say.
set -u
fail() { echo "FAILED: $*" >&2; exit 1; }

"$GUST" help job --markdown >JOB.md || fail "help job --markdown"
diff -u "$SOURCE/docs/JOB.md" JOB.md >diff.txt ||
    fail "docs/JOB.md is out of date; make it with 'gust help job --markdown': $(head -40 diff.txt)"

# Every command has a help and a manual page, and every setting is on the page of the job file.
"$GUST" help --pages >pages.txt || fail "help --pages"
grep -qx 'data import' pages.txt || fail "no 'data import' among the pages"
"$SOURCE/tools/man-pages" "$GUST" man || fail "tools/man-pages"
while read -r page; do
    name=gust-$(echo "$page" | tr ' ' -)
    "$GUST" help $page >help.txt || fail "no help for $page"
    [ "$(head -c 7 help.txt)" = "usage: " ] || fail "help $page: $(cat help.txt)"
    grep -q '^\.SH NAME' "man/man1/$name.1" || fail "no page $name"
done <pages.txt
grep -q '^\.SH COMMANDS' man/man1/gust.1 || fail "no page gust"
grep -o '^| `[a-z_0-9]*`' JOB.md | tr -d '|` ' | sort -u >settings.txt
[ "$(wc -l <settings.txt)" -gt 30 ] || fail "few settings: $(cat settings.txt)"
while read -r name; do
    grep -qF "\\fB$name\\fR" man/man5/gust-job.5 || fail "$name is not in gust-job(5)"
done <settings.txt

command -v groff >/dev/null || { echo "the pages were not formatted: no groff here"; exit 77; }
for page in man/man?/*; do
    groff -man -Tutf8 -ww "$page" >text.txt 2>warnings.txt || fail "$page: $(cat warnings.txt)"
    [ ! -s warnings.txt ] || fail "$page: $(cat warnings.txt)"
    [ -s text.txt ] || fail "$page is empty"
done
