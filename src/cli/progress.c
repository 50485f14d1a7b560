/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/text.h"

#define REDRAW_NS (100 * NS_PER_MS)
#define REPEAT_NS (10 * NS_PER_S)
#define BAR       16u

/* ---- the status line ---- */

enum part { BAR_PART, SHARE, EPOCH, STEP, LOSS, QUALITY, WORKERS, RATE, BILL, LEFT, PARTS };

/* Which parts go first where there is no room: what the line above says, or what changes least. */
static const enum part expendable[] = { BAR_PART, QUALITY, SHARE, WORKERS, STEP,
                                        RATE,     BILL,    EPOCH, LEFT,    LOSS };

static void write_bar(double share, char *out, size_t size)
{
    unsigned full = (unsigned)(MIN(MAX(share, 0.0), 1.0) * BAR + 0.5);
    char inside[BAR + 1];

    for (unsigned i = 0; i < BAR; i++)
        inside[i] = i < full ? '#' : '.';
    inside[BAR] = 0;
    snprintf(out, size, "[%s]", inside);
}

/* 12 s, 3:20, 2:05:10 */
static void write_left(double seconds, char *out, size_t size)
{
    uint64_t s = (uint64_t)(seconds + 0.5);

    if (!(seconds < 1e9))
        out[0] = 0;
    else if (s < 60)
        snprintf(out, size, "%" PRIu64 " s left", s);
    else if (s < 3600)
        snprintf(out, size, "%" PRIu64 ":%02" PRIu64 " left", s / 60, s % 60);
    else
        snprintf(out, size, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64 " left", s / 3600, s / 60 % 60,
                 s % 60);
}

#define PART_MAX 40

static void write_parts(const struct status_line *l, char parts[PARTS][PART_MAX])
{
    const struct progress *p = l->progress;

    memset(parts, 0, (size_t)PARTS * PART_MAX);
    if (p->share > 0) {
        write_bar(p->share, parts[BAR_PART], PART_MAX);
        snprintf(parts[SHARE], PART_MAX, "%3.0f %%", 100 * MIN(p->share, 1.0));
    }
    snprintf(parts[EPOCH], PART_MAX, "epoch %.1f", p->epoch);
    snprintf(parts[STEP], PART_MAX, "step %s", text_count(p->step).s);
    snprintf(parts[LOSS], PART_MAX, "loss %.4g", p->loss_train);
    if (l->metric)
        snprintf(parts[QUALITY], PART_MAX, "%s %.5g", l->metric, l->quality);
    snprintf(parts[WORKERS], PART_MAX, "%" PRIu32 " fn", p->workers);
    if (p->rate > 0)
        snprintf(parts[RATE], PART_MAX, "%s/s", text_short(p->rate).s);
    snprintf(parts[BILL], PART_MAX, "%s", text_usd(p->bill_usd).s);
    write_left(p->seconds_left, parts[LEFT], PART_MAX);
}

static size_t parts_width(char parts[PARTS][PART_MAX])
{
    size_t width = 0;

    for (unsigned i = 0; i < PARTS; i++)
        width += parts[i][0] ? strlen(parts[i]) + (width ? 2 : 0) : 0;
    return width;
}

void status_write(const struct status_line *l, unsigned width, char *out, size_t size)
{
    char parts[PARTS][PART_MAX];
    size_t at = 0;

    write_parts(l, parts);
    for (size_t i = 0; i < ARRAY_SIZE(expendable) && parts_width(parts) > width; i++)
        parts[expendable[i]][0] = 0;
    out[0] = 0;
    for (unsigned i = 0; i < PARTS; i++)
        if (parts[i][0] && at < size)
            at += (size_t)snprintf(out + at, size - at, "%s%s", at ? "  " : "", parts[i]);
}

/* ---- the terminal ---- */

unsigned terminal_width(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return MIN((unsigned)size.ws_col, DISPLAY_WIDTH_MAX);
    return 80;
}

/* A terminal on which a line can be drawn again. */
static bool is_terminal(void)
{
    const char *term = getenv("TERM");

    return isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0;
}

void display_open(struct display *d, struct env *env, const struct gust_metric *metrics,
                  uint32_t patience, bool silent)
{
    const char *no_color = getenv("NO_COLOR");

    *d = (struct display){ .env = env,
                           .metrics = metrics,
                           .patience = patience,
                           .silent = silent,
                           .terminal = is_terminal(),
                           .quality = NAN,
                           .best = NAN };
    d->dim = d->terminal && !(no_color && no_color[0]);
    d->next = env_now(env) + (d->terminal ? 0 : REPEAT_NS);
}

static void wipe(struct display *d)
{
    if (d->drawn)
        printf("\r\033[K");
    d->drawn = false;
}

/* TEXT as the status line; longer than the terminal is wide, it would wrap and never be wiped. */
static void draw(struct display *d, const char *text)
{
    wipe(d);
    if (d->terminal) {
        printf("%s%.*s%s", d->dim ? "\033[2m" : "", (int)terminal_width() - 1, text,
               d->dim ? "\033[0m" : "");
        d->drawn = true;
    } else {
        printf("%s\n", text);
    }
    fflush(stdout);
}

void display_end(struct display *d)
{
    wipe(d);
    fflush(stdout);
}

/* Which columns of an evaluation fit; on narrow terminals the first to go are told otherwise. */
struct columns {
    bool step, time, loss;
    unsigned metrics;
};

#define STANDING_WIDTH 10u

static struct columns choose_columns(const struct display *d)
{
    struct columns c = { true, true, true, 0 };
    unsigned width = d->terminal ? terminal_width() - 1 : DISPLAY_WIDTH_MAX;
    unsigned used = 8 + 10 + 10 + 12 + (d->patience ? STANDING_WIDTH : 0);

    while (d->metrics[c.metrics].name)
        c.metrics++;
    used += 11 * c.metrics;
    if (used > width) {
        c.time = false;
        used -= 10;
    }
    if (used > width) {
        c.step = false;
        used -= 10;
    }
    for (; used > width && c.metrics > 1; c.metrics--)
        used -= 11;
    c.loss = used <= width;
    return c;
}

static void print_titles(const struct display *d)
{
    struct columns c = choose_columns(d);

    printf("%8s", "epoch");
    if (c.step)
        printf(" %9s", "step");
    if (c.time)
        printf(" %9s", "time");
    if (c.loss)
        printf(" %11s", "train loss");
    for (unsigned i = 0; i < c.metrics; i++)
        printf(" %10s", d->metrics[i].name);
    printf("\n");
}

/* Without held-out examples there is no quality. */
static void print_value(double value)
{
    if (isnan(value))
        printf(" %10s", "-");
    else
        printf(" %10.5f", value);
}

static void print_row(const struct display *d, const struct evaluation *e, const char *standing)
{
    struct columns c = choose_columns(d);

    printf("%8.2f", e->epoch);
    if (c.step)
        printf(" %9s", text_count(e->step).s);
    if (c.time)
        printf(" %9s", text_seconds(e->seconds).s);
    if (c.loss)
        printf(" %11.5f", e->loss_train);
    for (unsigned i = 0; i < c.metrics; i++)
        print_value(e->values[i]);
    printf("%s\n", d->patience ? standing : "");
}

void display_begin(struct display *d, uint32_t workers)
{
    char text[80];

    if (d->silent)
        return;
    print_titles(d);
    snprintf(text, sizeof(text), "starting %" PRIu32 " function%s", workers,
             workers == 1 ? "" : "s");
    if (d->terminal)
        draw(d, text);
    fflush(stdout);
}

void display_progress(struct display *d, const struct progress *p)
{
    const struct status_line line = { .progress = p,
                                      .metric = isnan(d->quality) ? NULL : d->metrics[0].name,
                                      .quality = d->quality };
    uint64_t now = env_now(d->env);

    if (d->silent || d->stopping || now < d->next)
        return;
    d->next = now + (d->terminal ? REDRAW_NS : REPEAT_NS);
    status_write(&line, terminal_width() - 1, d->status, sizeof(d->status));
    draw(d, d->status);
}

/* How this evaluation stands among those before, for those who wait for no better one. */
static void write_standing(struct display *d, double value, char *out, size_t size)
{
    bool up = d->metrics[0].higher_is_better;

    d->quality = value;
    if (isnan(d->best) || (up ? value > d->best : value < d->best)) {
        d->best = value;
        d->waiting = 0;
        snprintf(out, size, "  best");
    } else {
        d->waiting++;
        /* Evaluations may still come after the last that counts. */
        if (d->waiting <= d->patience)
            snprintf(out, size, "  %u of %" PRIu32, d->waiting, d->patience);
        else
            out[0] = 0;
    }
}

void display_evaluation(struct display *d, const struct evaluation *e)
{
    char standing[32];

    write_standing(d, e->values[0], standing, sizeof(standing));
    if (d->silent)
        return;
    wipe(d);
    print_row(d, e, standing);
    /* A line that comes and goes is hard to read. */
    if (d->terminal && d->status[0] && !d->stopping)
        draw(d, d->status);
    fflush(stdout);
    d->next = env_now(d->env) + (d->terminal ? 0 : REPEAT_NS);
}

void display_stopping(struct display *d, enum run_end why)
{
    if (d->silent)
        return;
    d->stopping = true;
    if (why == RUN_INTERRUPTED)
        draw(d, "stopping; the model will be saved. Ctrl-C again ends at once, without it");
}
