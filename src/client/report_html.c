/* SPDX-License-Identifier: Apache-2.0 */
#include "client/report_html.h"

#include <inttypes.h>

#include "client/chart.h"
#include "client/events.h"

#define PAGE_MAX   (16 * MIB)
#define EVENTS_MAX (64 * MIB)
/* Kinds of segments that have a colour: c0 .. c9. */
#define COLOURS 10u

/* web/report.css, as bytes. */
__asm__(".section .rodata\n"
        ".global report_css_begin, report_css_end\n"
        "report_css_begin:\n.incbin \"web/report.css\"\nreport_css_end:\n.byte 0\n"
        ".previous\n");
extern const char report_css_begin[], report_css_end[];

/* ---- numbers ---- */

static struct chart_text bytes_text(double bytes)
{
    static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
    struct chart_text t;
    unsigned unit = 0;

    while (bytes >= 999.5 && unit + 1 < ARRAY_SIZE(units)) {
        bytes /= 1000;
        unit++;
    }
    snprintf(t.s, sizeof(t.s), "%.3g %s", bytes, units[unit]);
    return t;
}

static struct chart_text seconds_text(double s)
{
    struct chart_text t;

    if (s < 1)
        snprintf(t.s, sizeof(t.s), s < 1e-3 ? "%.0f µs" : "%.3g ms", s < 1e-3 ? s * 1e6 : s * 1e3);
    else if (s < 120)
        snprintf(t.s, sizeof(t.s), "%.1f s", s);
    else if (s < 7200)
        snprintf(t.s, sizeof(t.s), "%.0f min %02.0f s", floor(s / 60), fmod(s, 60));
    else
        snprintf(t.s, sizeof(t.s), "%.0f h %02.0f min", floor(s / 3600), floor(fmod(s, 3600) / 60));
    return t;
}

static struct chart_text usd_text(double usd)
{
    struct chart_text t;

    snprintf(t.s, sizeof(t.s), usd < 0.1 ? "$%.6f" : "$%.2f", usd);
    return t;
}

/* As many digits as it has, but cents at least. */
static struct chart_text price_text(double usd)
{
    struct chart_text t;
    size_t end = (size_t)snprintf(t.s, sizeof(t.s), "%.10f", usd);

    while (end > 3 && end < sizeof(t.s) && t.s[end - 1] == '0' && t.s[end - 3] != '.')
        t.s[--end] = 0;
    return t;
}

/* 1,234,567 */
static struct chart_text count_text(double n)
{
    struct chart_text t;
    char digits[32];
    int count = MIN(snprintf(digits, sizeof(digits), "%.0f", n), (int)sizeof(digits) - 1), at = 0;

    for (int i = 0; i < count && at < (int)sizeof(t.s) - 2; i++) {
        if (i > 0 && (count - i) % 3 == 0)
            t.s[at++] = ',';
        t.s[at++] = digits[i];
    }
    t.s[at] = 0;
    return t;
}

/* ---- head ---- */

static const struct summary_pair *find_setting(const struct summary *s, const char *name)
{
    for (unsigned i = 0; i < s->settings.count; i++)
        if (strcmp(s->settings.at[i].name, name) == 0)
            return &s->settings.at[i];
    return NULL;
}

static const char *state_text(const struct summary *s)
{
    if (strcmp(s->status, "done") != 0)
        return s->status;
    if (strcmp(s->end, "target") == 0)
        return "done: reached the target";
    if (strcmp(s->end, "patience") == 0)
        return "done: stopped early, the best model is kept";
    return "done";
}

/* The last part of a path. */
static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

static void write_head(const struct summary *s, struct buf *out)
{
    bool well = strcmp(s->status, "done") == 0;

    buf_str(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                 "<title>");
    html_text(out, s->model);
    buf_str(out, " on ");
    html_text(out, name_of(s->data));
    buf_str(out, "</title>\n<style>\n");
    buf_add(out, report_css_begin, (size_t)(report_css_end - report_css_begin));
    buf_str(out, "</style>\n</head>\n<body>\n<main>\n<h1>");
    html_text(out, s->model);
    buf_str(out, " on ");
    html_text(out, name_of(s->data));
    buf_printf(out, "</h1>\n<p class=\"sub\"><span class=\"state%s\">", well ? "" : " bad");
    html_text(out, state_text(s));
    buf_printf(out, "</span> · %.10s %.5s UTC · ", s->began,
               strlen(s->began) > 11 ? s->began + 11 : "");
    buf_printf(out, "%s examples", count_text((double)s->rows_train).s);
    buf_printf(out, " (%s held out) · ", count_text((double)s->rows_test).s);
    buf_printf(out, "%" PRIu64 " function%s of %" PRIu64 " MB</p>\n", s->workers,
               s->workers == 1 ? "" : "s", s->memory_mb);
    if (s->error[0]) {
        buf_str(out, "<p class=\"error\">");
        html_text(out, s->error);
        buf_str(out, "</p>\n");
    }
}

static void begin_tile(struct buf *out, const char *name)
{
    buf_str(out, "<div class=\"card tile\"><div class=\"name\">");
    html_text(out, name);
    buf_str(out, "</div><div class=\"value\">");
}

static void write_tiles(const struct summary *s, struct buf *out)
{
    const struct evaluation *e = summary_evaluation(s);

    buf_str(out, "<div class=\"tiles\">\n");
    begin_tile(out, s->metric_count ? s->metrics[0].name : "quality");
    if (e)
        buf_printf(out, "%.5f</div><div class=\"note\">%s model, epoch %.4g</div></div>\n",
                   e->values[0], e == &s->evaluations[s->best] ? "the best" : "of the last",
                   e->epoch);
    else
        buf_str(out, "–</div><div class=\"note\">not measured</div></div>\n");
    begin_tile(out, "training");
    buf_printf(out, "%s</div>", seconds_text(s->seconds_training).s);
    buf_printf(out, "<div class=\"note\">%s steps, ", count_text(s->steps).s);
    buf_printf(out, "%.4g epochs</div></div>\n", s->epochs);
    begin_tile(out, "examples per second");
    buf_printf(out, "%s</div>",
               chart_number(s->seconds_training > 0 ? s->examples / s->seconds_training : 0).s);
    buf_printf(out, "<div class=\"note\">ready after %s</div></div>\n",
               seconds_text(s->seconds_start).s);
    begin_tile(out, "bill");
    buf_printf(out, "%s</div><div class=\"note\">%s", usd_text(s->bill_usd).s,
               s->bill_as_if ? "as if on " : "");
    html_text(out, s->bill_name);
    buf_str(out, "</div></div>\n</div>\n");
}

/* ---- curves ---- */

static void begin_card(struct buf *out, const char *style, const char *title, const char *more)
{
    buf_printf(out, "<section class=\"card %s\"><h2>", style);
    html_text(out, title);
    if (more) {
        buf_str(out, " <span class=\"note\">");
        html_text(out, more);
        buf_str(out, "</span>");
    }
    buf_str(out, "</h2>\n");
}

static void write_metric(const struct summary *s, unsigned m, struct chart_point *points,
                         struct buf *out)
{
    const struct chart_series series = { "", points, s->evaluation_count, .dots = true };
    struct chart chart = { s->metrics[m].name, "epochs", &series, 1, .from_zero = false };

    for (unsigned i = 0; i < s->evaluation_count; i++)
        points[i] = (struct chart_point){ s->evaluations[i].epoch, s->evaluations[i].values[m] };
    if (s->evaluation_count && m == 0)
        chart.best = &points[s->best];
    begin_card(out, "", s->metrics[m].name,
               s->metrics[m].higher_is_better ? "on held-out examples; higher is better"
                                              : "on held-out examples; lower is better");
    chart_write(&chart, out);
    buf_str(out, "</section>\n");
}

/* One figure of every sample over another. */
static unsigned sample_points(const struct history *h, size_t x, size_t y,
                              struct chart_point *points)
{
    for (unsigned i = 0; i < h->sample_count; i++) {
        const char *at = (const char *)&h->samples[i];

        memcpy(&points[i].x, at + x, sizeof(double));
        memcpy(&points[i].y, at + y, sizeof(double));
    }
    return h->sample_count;
}

static void write_loss(const struct history *h, struct chart_point *points, struct buf *out)
{
    unsigned count = sample_points(h, offsetof(struct sample, epoch),
                                   offsetof(struct sample, loss_train), points);
    const struct chart_series series = { "b", points, count };
    const struct chart chart = { "training loss", "epochs", &series, 1 };

    begin_card(out, "", "training loss", "mean over the latest steps");
    chart_write(&chart, out);
    buf_str(out, "</section>\n");
}

static void write_rate(const struct history *h, struct chart_point *points, struct buf *out)
{
    unsigned count =
        sample_points(h, offsetof(struct sample, at), offsetof(struct sample, rate), points);
    const struct chart_series series = { "", points, count };
    const struct chart chart = { "examples per second", "seconds", &series, 1, .from_zero = true };

    begin_card(out, "", "examples per second", "of all functions together");
    chart_write(&chart, out);
    buf_str(out, "</section>\n");
}

static void write_workers(const struct history *h, struct chart_point *points, struct buf *out)
{
    struct chart_series series = { "", points, h->head_count, .stairs = true };
    const struct chart chart = { "functions", "seconds",         &series,
                                 1,           .from_zero = true, .whole = true };

    for (unsigned i = 0; i < h->head_count; i++)
        points[i] = (struct chart_point){ h->heads[i].at, h->heads[i].workers };
    if (h->head_count) {
        unsigned last = h->head_count;

        points[last] = (struct chart_point){ h->end, h->heads[last - 1].workers };
        series.count++;
    }
    begin_card(out, "", "functions", "running at a time");
    chart_write(&chart, out);
    buf_str(out, "</section>\n");
}

static void write_spent(const struct history *h, struct chart_point *points, struct buf *out)
{
    unsigned count =
        sample_points(h, offsetof(struct sample, at), offsetof(struct sample, bill_usd), points);
    const struct chart_series series = { "b", points, count };
    const struct chart chart = { "bill so far", "seconds", &series, 1, .from_zero = true };

    begin_card(out, "", "bill so far", "in dollars");
    chart_write(&chart, out);
    buf_str(out, "</section>\n");
}

static void write_curves(const struct summary *s, const struct history *h, struct buf *out)
{
    unsigned room = MAX(s->evaluation_count, MAX(h->sample_count, h->head_count + 1)) + 1;
    struct chart_point *points = heap_alloc(out->heap, room * sizeof(*points));

    if (s->metric_count)
        write_metric(s, 0, points, out);
    write_loss(h, points, out);
    for (unsigned m = 1; m < s->metric_count; m++)
        write_metric(s, m, points, out);
    write_rate(h, points, out);
    write_workers(h, points, out);
    /* Two to a row: this one fills it up. */
    if ((s->metric_count + 3) % 2)
        write_spent(h, points, out);
    heap_free(out->heap, points);
}

/* ---- bars ---- */

/* Segments of PAIRS as shares of WHOLE, in their order and the colours of the legend. */
static void write_bar(const struct summary_pairs *pairs, double whole, struct buf *out)
{
    buf_str(out, "<div class=\"bar\">");
    for (unsigned i = 0; i < pairs->count; i++) {
        double share = pairs->at[i].value / whole;

        if (share < 0.001)
            continue;
        buf_printf(out, "<i class=\"c%u\" style=\"width:%.2f%%\" title=\"", i % COLOURS,
                   100 * share);
        html_text(out, pairs->at[i].name);
        buf_printf(out, ": %.1f %%\"></i>", 100 * share);
    }
    buf_str(out, "</div>\n");
}

static void begin_legend(struct buf *out, unsigned i, const char *name)
{
    buf_printf(out, "<div><i class=\"c%u\"></i><span>", i % COLOURS);
    html_text(out, name);
    buf_str(out, "</span><b>");
}

static void write_times(const struct summary *s, struct buf *out)
{
    double whole = 0, steps = s->steps * (double)s->workers;

    for (unsigned i = 0; i < s->times.count; i++)
        whole += s->times.at[i].value;
    if (!(whole > 0) || !(steps > 0))
        return;
    begin_card(out, "wide", "Where the time of a step goes", "mean over functions and steps");
    write_bar(&s->times, whole, out);
    buf_str(out, "<div class=\"legend\">\n");
    for (unsigned i = 0; i < s->times.count; i++) {
        begin_legend(out, i, s->times.at[i].name);
        buf_printf(out, "%s &nbsp; %.1f %%</b></div>\n",
                   seconds_text(s->times.at[i].value / steps).s,
                   100 * s->times.at[i].value / whole);
    }
    buf_str(out, "</div></section>\n");
}

static void write_memory(const struct summary *s, struct buf *out)
{
    double limit = (double)s->memory_mb * (double)MIB;

    if (!(s->need_bytes > 0))
        return;
    begin_card(out, "wide", "Memory of a function", "as planned before the start");
    write_bar(&s->need, s->need_bytes, out);
    buf_str(out, "<div class=\"legend\">\n");
    for (unsigned i = 0; i < s->need.count; i++) {
        begin_legend(out, i, s->need.at[i].name);
        buf_printf(out, "%s</b></div>\n", bytes_text(s->need.at[i].value).s);
    }
    buf_printf(out, "</div>\n<p class=\"note after\">Planned %s", bytes_text(s->need_bytes).s);
    if (s->heap_bytes > 0)
        buf_printf(out, ", of which at most %s of heap were used", bytes_text(s->heap_bytes).s);
    buf_printf(out, ", given %s.</p></section>\n", bytes_text(limit).s);
}

/* ---- tables ---- */

static void write_item(const struct summary_item *item, struct buf *out)
{
    buf_str(out, "<tr><td>");
    html_text(out, item->name);
    if (item->note[0]) {
        buf_str(out, " <span class=\"soft\">");
        html_text(out, item->note);
        buf_str(out, "</span>");
    }
    buf_printf(out, "</td><td class=\"n\">%.6g ", item->quantity);
    html_text(out, item->unit);
    buf_printf(out, "</td><td class=\"n soft\">$%s per ", price_text(item->price_usd).s);
    html_text(out, item->per);
    buf_printf(out, "</td><td class=\"n\">$%.6f</td></tr>\n", item->amount_usd);
}

static void write_bill(const struct summary *s, struct buf *out)
{
    if (s->item_count == 0)
        return;
    begin_card(out, "wide", "Bill", NULL);
    buf_str(out, "<table>\n");
    for (unsigned i = 0; i < s->item_count; i++)
        write_item(&s->items[i], out);
    buf_printf(out,
               "<tr class=\"total\"><td>total</td><td></td><td></td><td class=\"n\">$%.6f</td>"
               "</tr>\n</table>\n<p class=\"note after\">%s",
               s->bill_usd, s->bill_as_if ? "Nothing was paid: this is as if on " : "");
    html_text(out, s->bill_name);
    buf_str(out, ", prices of ");
    html_text(out, s->bill_date);
    if (s->machine[0]) {
        buf_printf(out, ". On virtual machines, %.0f × ", s->machine_count);
        html_text(out, s->machine);
        buf_printf(out, " for %s with booting, it would be ", seconds_text(s->machine_seconds).s);
        buf_str(out, usd_text(s->machine_usd).s);
    }
    buf_str(out, ".</p></section>\n");
}

static void write_settings(const struct summary *s, struct buf *out)
{
    begin_card(out, "wide", "Settings", "job.yaml has them, too");
    buf_str(out, "<div class=\"settings\">\n");
    for (unsigned i = 0; i < s->settings.count; i++) {
        buf_str(out, "<div><span>");
        html_text(out, s->settings.at[i].name);
        buf_str(out, "</span><b>");
        html_text(out, s->settings.at[i].text);
        buf_str(out, "</b></div>\n");
    }
    buf_str(out, "</div></section>\n");
}

static void write_evaluations(const struct summary *s, struct buf *out)
{
    buf_str(out, "<section class=\"card wide\"><details><summary>Evaluations</summary><table>"
                 "<tr><th class=\"n\">epoch</th><th class=\"n\">step</th>"
                 "<th class=\"n\">seconds</th><th class=\"n\">training loss</th>");
    for (unsigned m = 0; m < s->metric_count; m++) {
        buf_str(out, "<th class=\"n\">");
        html_text(out, s->metrics[m].name);
        buf_str(out, "</th>");
    }
    buf_str(out, "</tr>\n");
    for (unsigned i = 0; i < s->evaluation_count; i++) {
        const struct evaluation *e = &s->evaluations[i];

        buf_printf(out, "<tr%s><td class=\"n\">%.2f</td><td class=\"n\">%s</td>",
                   i == s->best ? " class=\"best\"" : "", e->epoch, count_text((double)e->step).s);
        buf_printf(out, "<td class=\"n\">%.3f</td><td class=\"n\">%.5f</td>", e->seconds,
                   e->loss_train);
        for (unsigned m = 0; m < s->metric_count; m++)
            buf_printf(out, "<td class=\"n\">%.5f</td>", e->values[m]);
        buf_str(out, "</tr>\n");
    }
    buf_str(out, "</table></details></section>\n");
}

void report_html_write(const struct summary *s, const struct history *h, const char *version,
                       struct buf *out)
{
    const struct summary_pair *seed = find_setting(s, "training.seed");

    write_head(s, out);
    write_tiles(s, out);
    buf_str(out, "<div class=\"cards\">\n");
    write_curves(s, h, out);
    write_times(s, out);
    write_bill(s, out);
    write_memory(s, out);
    write_settings(s, out);
    if (s->evaluation_count)
        write_evaluations(s, out);
    buf_printf(out, "</div>\n<footer>Gust %s", version);
    if (seed) {
        buf_str(out, " · the same job with seed ");
        html_text(out, seed->text);
        buf_str(out, " gives the same model, bit for bit");
    }
    buf_str(out, "</footer>\n</main>\n</body>\n</html>\n");
}

/* Object NAME, or nothing where there is none and it is not NEEDED. */
static int get(struct objects *objects, const char *name, bool needed, struct buf *out,
               struct error *err)
{
    int rc = objects_get_all(objects, name, out, err);

    return rc == E_NOT_FOUND && !needed ? 0 : rc;
}

int report_html_make(struct objects *objects, struct heap *heap, const char *version,
                     struct error *err)
{
    struct buf summary_text, events_text, page;
    struct summary summary = { 0 };
    struct history history = { 0 };
    int rc;

    buf_init(&summary_text, heap, EVENTS_MAX);
    buf_init(&events_text, heap, EVENTS_MAX);
    buf_init(&page, heap, PAGE_MAX);
    rc = get(objects, SUMMARY_NAME, true, &summary_text, err);
    if (!rc)
        rc = get(objects, EVENTS_NAME, false, &events_text, err);
    if (!rc && summary_read(&summary, buf_slice(&summary_text), err))
        rc = fail_within(err, E_FORMAT, "%s cannot be used", SUMMARY_NAME);
    if (!rc && history_read(&history, heap, buf_slice(&events_text), err))
        rc = fail_within(err, E_FORMAT, "%s cannot be used", EVENTS_NAME);
    if (!rc) {
        report_html_write(&summary, &history, version, &page);
        rc = page.failed ? fail(err, E_LIMIT, "the report is too long")
                         : objects_put(objects, REPORT_NAME, buf_slice(&page), err);
    }
    history_release(&history);
    summary_release(&summary);
    buf_release(&page);
    buf_release(&events_text);
    buf_release(&summary_text);
    return rc;
}
