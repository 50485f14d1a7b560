/* SPDX-License-Identifier: Apache-2.0 */
#include "client/chart.h"

#define WIDTH  440.0
#define HEIGHT 210.0
/* The plot's place inside. */
#define LEFT   44.0
#define RIGHT  12.0
#define TOP    12.0
#define BOTTOM 34.0

#define TICKS      5
#define TICKS_MAX  20
#define VALUE_MAX  1e18
#define POINTS_MAX 400u

void html_text(struct buf *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<':
            buf_str(out, "&lt;");
            break;
        case '>':
            buf_str(out, "&gt;");
            break;
        case '&':
            buf_str(out, "&amp;");
            break;
        case '"':
            buf_str(out, "&quot;");
            break;
        default:
            buf_add(out, text, 1);
        }
    }
}

struct chart_text chart_number(double value)
{
    static const char *const units[] = { "", " k", " M", " G", " T" };
    struct chart_text t;
    unsigned unit = 0;

    if (fabs(value) >= 10000)
        while (fabs(value) >= 1000 && unit + 1 < ARRAY_SIZE(units)) {
            value /= 1000;
            unit++;
        }
    /* A tick at zero may have come out as a negative one. */
    snprintf(t.s, sizeof(t.s), "%.4g%s", value == 0 ? 0 : value, units[unit]);
    return t;
}

struct range {
    double lo, hi, tick;
};

/* The step of 1, 2 or 5 times a power of ten that gives about TICKS ticks. */
static double nice_tick(double span)
{
    double power = pow(10, floor(log10(span / TICKS))), rest = span / TICKS / power;

    return power * (rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10);
}

/* Finite, and not so large that nothing else would be seen. */
static bool finite_point(const struct chart_point *p)
{
    return fabs(p->x) < VALUE_MAX && fabs(p->y) < VALUE_MAX;
}

static void include(struct range *r, double v)
{
    r->lo = MIN(r->lo, v);
    r->hi = MAX(r->hi, v);
}

/* Round R outwards to ticks; false when nothing was included. */
static bool settle(struct range *r, bool outwards, bool whole)
{
    if (!(r->lo <= r->hi))
        return false;
    /* Nearly equal values would have ticks that cannot be told apart. */
    if (r->hi - r->lo <= fabs(r->hi) * 1e-6) {
        double some = r->lo == 0 ? 1 : fabs(r->lo) * 0.1;

        r->hi += some;
        r->lo -= r->lo == 0 ? 0 : some;
    }
    r->tick = nice_tick(r->hi - r->lo);
    if (whole)
        r->tick = MAX(r->tick, 1.0);
    if (outwards) {
        r->lo = floor(r->lo / r->tick + 1e-9) * r->tick;
        r->hi = ceil(r->hi / r->tick - 1e-9) * r->tick;
    }
    return true;
}

static double x_of(const struct range *r, double v)
{
    return LEFT + (v - r->lo) / (r->hi - r->lo) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct range *r, double v)
{
    return HEIGHT - BOTTOM - (v - r->lo) / (r->hi - r->lo) * (HEIGHT - TOP - BOTTOM);
}

/* The I-th tick of R, a whole multiple so that they do not drift; false after the last. */
static bool tick_at(const struct range *r, unsigned i, double *out)
{
    *out = (ceil(r->lo / r->tick - 1e-9) + i) * r->tick;
    return i <= TICKS_MAX && *out <= r->hi + r->tick * 1e-6;
}

static void write_axes(const struct range *x, const struct range *y, const char *x_unit,
                       struct buf *out)
{
    double tick;

    for (unsigned i = 0; tick_at(y, i, &tick); i++) {
        double at = y_of(y, tick);

        buf_printf(out, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>",
                   LEFT, WIDTH - RIGHT, at, at);
        buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>", LEFT - 7,
                   at + 4, chart_number(tick).s);
    }
    for (unsigned i = 0; tick_at(x, i, &tick); i++)
        buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>",
                   x_of(x, tick), HEIGHT - BOTTOM + 16, chart_number(tick).s);
    buf_printf(out, "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT,
               WIDTH - RIGHT, HEIGHT - BOTTOM, HEIGHT - BOTTOM);
    buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", WIDTH - RIGHT,
               HEIGHT - 3.0);
    html_text(out, x_unit);
    buf_str(out, "</text>\n");
}

/* Neighbours are averaged where there are more points than can be told apart. */
static void write_line(const struct chart_series *s, const struct range *x, const struct range *y,
                       struct buf *out)
{
    unsigned each = s->stairs ? 1 : (s->count + POINTS_MAX - 1) / POINTS_MAX;
    const char *pen = "M";
    double last = 0;

    buf_printf(out, "<path class=\"line %s\" d=\"", s->style);
    for (unsigned i = 0; i < s->count; i += each) {
        struct chart_point mean = { 0, 0 };
        unsigned n = 0;

        for (unsigned k = i; k < MIN(i + each, s->count); k++)
            if (finite_point(&s->points[k])) {
                mean.x += s->points[k].x;
                mean.y += s->points[k].y;
                n++;
            }
        if (n == 0)
            continue;
        if (s->stairs && *pen == 'L')
            buf_printf(out, "L%.1f %.1f", x_of(x, mean.x / n), last);
        last = y_of(y, mean.y / n);
        buf_printf(out, "%s%.1f %.1f", pen, x_of(x, mean.x / n), last);
        pen = "L";
    }
    buf_str(out, "\"/>\n");
}

static void write_dots(const struct chart_series *s, const struct range *x, const struct range *y,
                       struct buf *out)
{
    for (unsigned i = 0; i < s->count; i++) {
        const struct chart_point *p = &s->points[i];

        if (!finite_point(p))
            continue;
        buf_printf(out, "<circle class=\"dot %s\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\"><title>%.4g: ",
                   s->style, x_of(x, p->x), y_of(y, p->y), p->x);
        buf_printf(out, "%.6g</title></circle>", p->y);
    }
}

static void write_best(const struct chart_point *p, const struct range *x, const struct range *y,
                       struct buf *out)
{
    double cx = x_of(x, p->x), cy = y_of(y, p->y);
    bool right = cx > WIDTH / 2, below = cy < TOP + 24;

    buf_printf(out, "<circle class=\"best\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>", cx, cy);
    buf_printf(out, "<text class=\"mark\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%.5g</text>",
               right ? cx + 4 : cx - 4, below ? cy + 20 : cy - 10, right ? "end" : "start", p->y);
}

void chart_write(const struct chart *c, struct buf *out)
{
    struct range x = { INFINITY, -INFINITY, 0 }, y = { INFINITY, -INFINITY, 0 };

    for (unsigned i = 0; i < c->count; i++)
        for (unsigned k = 0; k < c->series[i].count; k++)
            if (finite_point(&c->series[i].points[k])) {
                include(&x, c->series[i].points[k].x);
                include(&y, c->series[i].points[k].y);
            }
    if (x.lo <= x.hi)
        include(&x, 0);
    if (c->from_zero && y.lo <= y.hi)
        include(&y, 0);
    if (!settle(&x, false, false) || !settle(&y, true, c->whole)) {
        buf_str(out, "<p class=\"soft\">Nothing was measured.</p>\n");
        return;
    }
    buf_printf(out, "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"", WIDTH, HEIGHT);
    html_text(out, c->label);
    buf_str(out, "\">\n");
    write_axes(&x, &y, c->x_unit, out);
    for (unsigned i = 0; i < c->count; i++) {
        write_line(&c->series[i], &x, &y, out);
        if (c->series[i].dots)
            write_dots(&c->series[i], &x, &y, out);
    }
    if (c->best && finite_point(c->best))
        write_best(c->best, &x, &y, out);
    buf_str(out, "</svg>\n");
}
