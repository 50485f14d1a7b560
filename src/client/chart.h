/* SPDX-License-Identifier: Apache-2.0 */
/* Line charts as inline SVG. Colours and letters are the page's (web/report.css). */
#ifndef GUST_CLIENT_CHART_H
#define GUST_CLIENT_CHART_H

#include "base/buf.h"

struct chart_point {
    double x, y;
};

/* Points that are not finite are left out. */
struct chart_series {
    const char *style; /* "" or "b": the second colour */
    const struct chart_point *points;
    unsigned count;
    bool dots;   /* mark every point: for few of them */
    bool stairs; /* a value holds until the next */
};

struct chart {
    const char *label;  /* what is drawn, for those who cannot see it */
    const char *x_unit; /* below the axis: "epochs" */
    const struct chart_series *series;
    unsigned count;
    bool from_zero;                 /* the y axis begins at 0; the x axis always does */
    bool whole;                     /* values are whole numbers, and so are ticks */
    const struct chart_point *best; /* a point to be marked with its value; NULL: none */
};

/* A chart, or a sentence when there is nothing to draw. */
void chart_write(const struct chart *c, struct buf *out);

/* TEXT with what has a meaning in HTML escaped. */
void html_text(struct buf *out, const char *text);

/* A number with a few digits, as on an axis: 0.752, 12 M. */
struct chart_text {
    char s[32];
};
struct chart_text chart_number(double value);

#endif
