/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gust's public interface for people who write trainers. A trainer knows a model: which
 * parameters it has, how they start, and what a batch of examples says about them. Gust
 * does the rest: batches, exchange between functions, optimiser, recovery, evaluation.
 * The built-in trainers use nothing else.
 *
 * Life of a trainer in one function: open, groups, init (row ranges, any order), then
 * step and evaluate many times, close. All but open and close may be called by several threads at once on
 * different batches and different outputs; a trainer keeps nothing that changes
 * outside its parameter groups, or a replaced function would not compute the same bits.
 */
#ifndef GUST_H
#define GUST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GUST_ABI        1
#define GUST_GROUPS_MAX 16
#define GUST_SUMS_MAX   8
#define GUST_FIELDS_MAX 32

/* What a step emits. */
enum gust_kind {
    GUST_GRADIENT,  /* sums of gradients; Gust's optimiser applies them after the exchange */
    GUST_UPDATE,    /* changes to be added, made by the trainer's own optimiser */
    GUST_STATISTIC, /* sums, handed to the trainer's apply */
};

enum gust_scope {
    GUST_SHARED,  /* equal in all functions; exchanged */
    GUST_PRIVATE, /* belongs to the data with its key; stays where that data is, updated in place by step */
};

/* Which indices of an example select rows of a group. */
enum gust_index {
    GUST_INDEX_ALL,    /* every row may be read at any time */
    GUST_INDEX_COLUMN, /* the index in position `column` of the index list */
    GUST_INDEX_LISTS,  /* every index of the index list and of the sparse values, less `offset` below */
};

/*
 * One matrix of parameters (or, with `statistic`, of sums that have no parameters behind them).
 * Rows lie gust_stride(cols) floats apart; the floats between cols and stride are zero and stay so.
 */
struct gust_group {
    const char *name; /* as it will be called in the saved model */
    uint64_t rows;
    uint32_t cols;
    enum gust_scope scope;
    enum gust_index index;
    uint32_t column;    /* for GUST_INDEX_COLUMN; a private group's is the data's key column */
    bool sparse;        /* a step touches few rows: outputs go through gust_out_row() */
    bool unregularised; /* L1 and L2 leave it alone (biases) */
    bool statistic;     /* exchanged by GUST_STATISTIC trainers; holds no parameters */
};

/*
 * Columns of a group that mean something to a person: one tensor of the saved model. Prediction
 * and warm starts fill a model in by init first and the saved fields then, so columns that are
 * in no field (constants) need not be saved. A row whose fields are all zero stands for a user or an
 * item that training has not seen.
 */
struct gust_field {
    const char *name; /* as it will be called in the saved model */
    unsigned group;
    uint32_t first, cols; /* columns first .. first+cols-1 */
    bool vector;          /* one column, saved as a vector and not as a matrix */
};

/* Floats between two rows of COLS columns: rows of more than four columns are whole vectors of eight. */
static inline uint32_t gust_stride(uint32_t cols)
{
    return cols <= 2 ? cols : cols <= 4 ? 4 : (cols + 7) & ~7u;
}

/*
 * Rows are marked as touched in units of at least a cache line: one row when it is that long,
 * otherwise as many as fill one. The unit of a group is 1 << gust_unit_shift(stride) rows.
 */
static inline unsigned gust_unit_shift(uint32_t stride)
{
    unsigned shift = 0;

    while (((uint64_t)stride << shift) < 16)
        shift++;
    return shift;
}

/* Rows first .. first+count-1 of a group, as far as this function holds them. */
struct gust_view {
    float *rows; /* row `first` */
    uint64_t first, count;
    uint32_t stride;
};

static inline float *gust_row(const struct gust_view *v, uint64_t row)
{
    return v->rows + (row - v->first) * v->stride;
}

/* What the data looks like. */
#define GUST_VARIES UINT32_MAX

struct gust_data {
    uint64_t rows;      /* examples to train on */
    uint32_t dense;     /* values at the start of every example */
    uint32_t ones;      /* indices per example whose value is 1, or GUST_VARIES */
    bool sparse;        /* examples also have (index, value) pairs */
    uint64_t dims;      /* every index is less than this */
    uint32_t keys;      /* leading index columns that name things (users, items); 0 for plain features */
    uint64_t key_rows[4]; /* how many different ones there are, per key column */
    uint32_t classes;   /* labels are 0 .. classes-1; 0: labels are real numbers */
    double label_mean;
    double label_min, label_max;
};

/*
 * A batch of examples. Example r is the run of 32-bit words at words + gust_at(b, r):
 *
 *   float    label
 *   float    dense[data->dense]
 *   uint32_t ones[data->ones]                    if ones is a number
 *   or uint32_t count, ones[count]               if ones is GUST_VARIES
 *   uint32_t count, then count times (uint32_t index, float value)   if data->sparse
 */
struct gust_batch {
    const struct gust_data *data;
    const uint32_t *words;
    const uint32_t *at; /* where each example begins; NULL: all have row_words */
    uint32_t row_words;
    uint32_t rows;
};

static inline size_t gust_at(const struct gust_batch *b, uint32_t r)
{
    return b->at ? b->at[r] : (size_t)r * b->row_words;
}

static inline float gust_f32(const uint32_t *word)
{
    float f;

    memcpy(&f, word, sizeof(f));
    return f;
}

/* Where a step leaves what is exchanged: memory that the store owns. */
struct gust_out_group {
    float *rows;       /* all rows of the group */
    uint64_t *touched; /* a bit per unit of rows; NULL: dense, zeroed before the step */
    uint32_t stride;
    uint32_t unit_shift;
};

struct gust_out {
    struct gust_out_group groups[GUST_GROUPS_MAX]; /* by group number; rows NULL if not exchanged */
    double loss;                                   /* add the sum of the examples' losses */
    double weight;                                 /* set by Gust: how many examples */
};

/* All rows of a dense group, to add to. */
static inline float *gust_out_dense(struct gust_out *out, unsigned group)
{
    return out->groups[group].rows;
}

/* One row of a group, to add to; zeroed when the step first touches its unit. */
static inline float *gust_out_row(struct gust_out *out, unsigned group, uint64_t row)
{
    struct gust_out_group *g = &out->groups[group];

    if (g->touched) {
        uint64_t unit = row >> g->unit_shift;
        uint64_t *word = &g->touched[unit >> 6], bit = (uint64_t)1 << (unit & 63);

        if (!(*word & bit)) {
            *word |= bit;
            memset(g->rows + (unit << g->unit_shift) * g->stride, 0,
                   sizeof(float) * ((size_t)g->stride << g->unit_shift));
        }
    }
    return g->rows + row * g->stride;
}

/* Add COUNT rows of VALUES (cols floats each, no padding) to the rows INDEX. */
void gust_out_rows(struct gust_out *out, unsigned group, uint32_t cols, const uint32_t *index,
                   const float *values, uint32_t count);

/* One call of step. */
struct gust_step {
    const struct gust_batch *batch;
    const struct gust_view *groups; /* by group number; private ones may be written */
    struct gust_out *out;
    void *scratch; /* scratch_bytes of memory, this thread's own, contents undefined */
    double rate;   /* this step's step size, for what step updates itself */
    uint64_t step; /* counts global updates from 0 */
};

/* What a trainer is given when it opens; valid until close. */
struct gust_host;

/* A setting of the job, or FALLBACK. A value that is no number or out of range ends the job with a clear message. */
const char *gust_setting(struct gust_host *h, const char *name, const char *fallback);
double gust_setting_f64(struct gust_host *h, const char *name, double fallback, double min,
                        double max);
uint64_t gust_setting_u64(struct gust_host *h, const char *name, uint64_t fallback, uint64_t min,
                          uint64_t max);
/* The job's seed. */
uint64_t gust_seed(struct gust_host *h);
/* Zeroed memory that lives until close; NULL when there is none left. */
void *gust_alloc(struct gust_host *h, size_t size);
/* Say why open fails; returns -1 for `return gust_refuse(...)`. */
int gust_refuse(struct gust_host *h, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* 64 random bits, and a normal deviate, as pure functions of (seed, a, b, c). */
uint64_t gust_random(uint64_t seed, uint64_t a, uint64_t b, uint64_t c);
float gust_normal(uint64_t seed, uint64_t a, uint64_t b, uint64_t c);

/* A setting that a trainer proposes unless the job says otherwise, such as { "optimiser", "adagrad" }. */
struct gust_default {
    const char *name, *value;
};

/* A figure of quality made from evaluate's sums. */
struct gust_metric {
    const char *name;     /* "rmse", "log-loss" */
    bool higher_is_better;
};

struct gust_trainer {
    uint32_t abi; /* GUST_ABI */
    const char *name;
    const char *summary; /* one line for `gust help` */
    enum gust_kind kind;
    bool mean;                            /* GUST_UPDATE: combine by weighted mean, not sum */
    bool classifies;                      /* predict gives the numbers of classes: no scores, no probabilities */
    const struct gust_default *defaults;  /* ends with a NULL name; may be NULL */
    const struct gust_metric *metrics;    /* ends with a NULL name; the first decides */

    /* Make the trainer for this data. 0, or non-zero after gust_refuse(). */
    int (*open)(struct gust_host *h, const struct gust_data *data, void **self);
    /* Optional. */
    void (*close)(void *self);

    /* Fill GROUPS (room for GUST_GROUPS_MAX) and return how many. */
    unsigned (*groups)(const void *self, struct gust_group *groups);

    /*
     * Optional (NULL: every group is one field of its name). Fill FIELDS (room for
     * GUST_FIELDS_MAX) and return how many.
     */
    unsigned (*fields)(const void *self, struct gust_field *fields);

    /* Optional: bytes of scratch memory for a step of at most ROWS examples. */
    size_t (*scratch_bytes)(const void *self, uint32_t rows);

    /* Optional (NULL: zeroes). First values of V's rows of GROUP, which are zero before; a pure function of seed and row. */
    void (*init)(const void *self, unsigned group, const struct gust_view *v);

    /* Add a batch's contribution to OUT, update private rows in place. */
    void (*step)(const void *self, const struct gust_step *s);

    /* Add a batch's sums to SUMS (GUST_SUMS_MAX, additive over batches and functions). */
    void (*evaluate)(const void *self, const struct gust_batch *batch,
                     const struct gust_view *groups, double *sums);
    /* Turn sums into the figures of `metrics`, in their order. */
    void (*score)(const void *self, const double *sums, double *values);

    /* Optional. One prediction per example. */
    void (*predict)(const void *self, const struct gust_batch *batch,
                    const struct gust_view *groups, float *out);

    /*
     * GUST_STATISTIC only: SUMS holds the exchanged sums of the `statistic` groups, by group
     * number; change the shared groups accordingly. Called alike in every function.
     */
    void (*apply)(const void *self, const struct gust_view *groups, const struct gust_view *sums,
                  double weight, uint64_t step);
};

#ifdef __cplusplus
}
#endif

#endif
