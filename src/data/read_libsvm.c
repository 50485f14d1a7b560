/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading libsvm files. The first pass finds the schema (dimensions, whether all values are 1,
 * what the labels are), the second adds the examples.
 */
#include <inttypes.h>

#include "base/random.h"
#include "data/format.h"
#include "data/read.h"
#include "data/scan.h"

/* Whole labels up to this are taken for classes. */
#define CLASSES_MAX 4096u

/* A growing array of words; `full` when it cannot grow. */
struct words {
    struct heap *heap;
    uint32_t *at;
    uint32_t count, room;
    bool full;
};

static void grow(struct words *w)
{
    uint32_t room = MAX(2 * w->room, 256u);
    uint32_t *at =
        room > FORMAT_ROW_WORDS_MAX ? NULL : heap_try_alloc_raw(w->heap, room, sizeof(*at));

    w->full = !at;
    if (!at)
        return;
    if (w->count)
        memcpy(at, w->at, w->count * sizeof(*at));
    heap_free(w->heap, w->at);
    w->at = at;
    w->room = room;
}

static inline void push(struct words *w, uint32_t word)
{
    if (w->count == w->room && !w->full)
        grow(w);
    if (!w->full)
        w->at[w->count++] = word;
}

static inline void push_f32(struct words *w, float value)
{
    uint32_t word;

    memcpy(&word, &value, sizeof(word));
    push(w, word);
}

struct libsvm {
    struct builder *builder; /* NULL in the first pass */
    const struct read_options *options;

    /* Found in the first pass, over both files. */
    uint32_t index_min, index_max;
    bool all_ones, all_whole, has_minus;
    uint8_t seen[CLASSES_MAX + 1]; /* whole labels from 0 */
    uint32_t ones_min, ones_max;   /* entries per line */
    uint64_t lines;                /* with examples, in the training file */
    uint32_t classes, label_base;

    struct words example; /* label, then index and value alternating, as read */
    struct words words;   /* as the builder takes it */
    uint64_t row;
};

/* Where a message points to. */
struct place {
    const char *file;
    uint64_t line;
};

static int bad(const struct place *p, const struct scan *s, const char *what, struct error *err)
{
    char word[32];

    scan_word(s, word);
    if (!word[0])
        return fail(err, E_FORMAT, "%s:%" PRIu64 ": %s, found the end of the line", p->file,
                    p->line, what);
    return fail(err, E_FORMAT, "%s:%" PRIu64 ": %s, found '%s'", p->file, p->line, what, word);
}

static bool at_end(const struct scan *s)
{
    return s->at == s->end || *s->at == '#';
}

/* One line into r->example; empty when there is none on it. */
static int parse_line(struct libsvm *r, struct scan line, const struct place *p, struct error *err)
{
    uint32_t index, last = 0;
    bool first = true;
    float value;

    r->example.count = 0;
    scan_blanks(&line);
    if (at_end(&line))
        return 0;
    if (!scan_f32(&line, &value) || (line.at < line.end && *line.at != ' ' && *line.at != '\t'))
        return bad(p, &line, "expected a finite label", err);
    push_f32(&r->example, value);
    for (scan_blanks(&line); !at_end(&line); scan_blanks(&line), first = false, last = index) {
        struct scan before = line;

        if (!scan_u32(&line, &index) || line.at == line.end || *line.at != ':')
            return bad(p, &before, "expected index:value with a whole index", err);
        if (!first && index <= last)
            return bad(p, &before, "indices must rise within a line", err);
        line.at++;
        if (!scan_f32(&line, &value) || (line.at < line.end && *line.at != ' ' && *line.at != '\t'))
            return bad(p, &before, "expected a finite value after the colon", err);
        push(&r->example, index);
        push_f32(&r->example, value);
    }
    return r->example.full ? fail(err, E_LIMIT, "%s:%" PRIu64 ": the line has too many values",
                                  p->file, p->line)
                           : 0;
}

static void note_label(struct libsvm *r, float label)
{
    if (label == -1)
        r->has_minus = true;
    else if (label >= 0 && label <= (float)CLASSES_MAX && label == (float)(uint32_t)label)
        r->seen[(uint32_t)label] = 1;
    else
        r->all_whole = false;
}

/* First pass: what this example says about the schema. */
static int note_example(struct libsvm *r, bool test UNUSED, struct error *err UNUSED)
{
    const uint32_t *w = r->example.at;
    uint32_t count = (r->example.count - 1) / 2;

    note_label(r, gust_f32(w));
    for (uint32_t i = 0; i < count; i++)
        r->all_ones &= gust_f32(&w[2 + 2 * i]) == 1;
    if (count) {
        r->index_min = MIN(r->index_min, w[1]);
        r->index_max = MAX(r->index_max, w[2 * count - 1]);
    }
    r->ones_min = MIN(r->ones_min, count);
    r->ones_max = MAX(r->ones_max, count);
    r->lines++;
    return 0;
}

static float class_of(const struct libsvm *r, float label)
{
    if (r->classes == 0)
        return label;
    return r->has_minus ? (float)(label > 0) : label - (float)r->label_base;
}

/* Second pass: turn the example into words and add it. */
static int add_example(struct libsvm *r, bool test, struct error *err)
{
    const uint32_t *w = r->example.at;
    uint32_t count = (r->example.count - 1) / 2, base = r->index_min ? 1 : 0;
    enum dataset_split split = DATASET_TRAIN;
    float label = class_of(r, gust_f32(w));

    if (r->options->test.text.data
            ? test
            : random_unit64(random_at(0x686f6c64, r->row, 0, 0)) < r->options->held_out)
        split = DATASET_TEST;
    r->row++;
    r->words.count = 0;
    push_f32(&r->words, label);
    if (!r->all_ones || r->ones_min != r->ones_max)
        push(&r->words, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = w[1 + 2 * i] - base;

        push(&r->words, index);
        if (!r->all_ones)
            push(&r->words, w[2 + 2 * i]);
    }
    if (r->words.full)
        return fail(err, E_LIMIT, "an example has too many values");
    return builder_add(r->builder, split, r->words.at, r->words.count, err);
}

static int each_line(struct libsvm *r, const struct read_file *file, bool test, struct error *err)
{
    struct scan text = { file->text.data, (const char *)file->text.data + file->text.size }, line;
    struct place p = { file->name, 0 };
    int rc = 0;

    while (!rc && scan_line(&text, &line)) {
        p.line++;
        rc = parse_line(r, line, &p, err);
        if (!rc && r->example.count)
            rc = r->builder ? add_example(r, test, err) : note_example(r, test, err);
    }
    return rc;
}

static int each_file(struct libsvm *r, struct error *err)
{
    int rc = each_line(r, &r->options->train, false, err);

    if (!rc && r->lines == 0)
        rc = fail(err, E_FORMAT, "%s holds no examples", r->options->train.name);
    if (!rc && r->options->test.text.data)
        rc = each_line(r, &r->options->test, true, err);
    return rc;
}

/* What the labels are. */
static void choose_classes(struct libsvm *r)
{
    uint32_t highest = 0, different = 0;

    for (uint32_t i = 0; i <= CLASSES_MAX; i++)
        if (r->seen[i]) {
            highest = i;
            different++;
        }
    if (!r->all_whole || (r->has_minus && (highest > 1 || (r->seen[0] && r->seen[1]))))
        return;
    if (r->has_minus || highest <= 1) {
        r->classes = 2;
        return;
    }
    r->label_base = r->seen[0] ? 0 : 1;
    if (different == highest + 1 - r->label_base)
        r->classes = MAX(different, 2u);
}

static void choose_schema(struct libsvm *r, struct gust_data *schema)
{
    choose_classes(r);
    *schema = (struct gust_data){ .classes = r->classes };
    schema->dims =
        r->index_max >= r->index_min ? (uint64_t)r->index_max + (r->index_min ? 0 : 1) : 1;
    schema->sparse = !r->all_ones;
    if (r->all_ones)
        schema->ones = r->ones_min == r->ones_max ? r->ones_min : GUST_VARIES;
    if (r->all_ones && schema->ones == 0)
        schema->ones = GUST_VARIES;
}

int read_libsvm(const struct builder_options *to, const struct read_options *options,
                struct error *err)
{
    struct libsvm *r = heap_alloc(to->heap, sizeof(*r));
    struct builder_options bo = *to;
    int rc;

    r->options = options;
    r->index_min = r->ones_min = UINT32_MAX;
    r->all_ones = r->all_whole = true;
    r->example.heap = r->words.heap = to->heap;
    rc = each_file(r, err);
    if (!rc) {
        bo.kind = "libsvm";
        choose_schema(r, &bo.schema);
        rc = builder_open(&r->builder, &bo, err);
    }
    rc = rc ? rc : each_file(r, err);
    rc = rc ? rc : builder_finish(r->builder, err);
    builder_close(r->builder);
    heap_free(to->heap, r->example.at);
    heap_free(to->heap, r->words.at);
    heap_free(to->heap, r);
    return rc;
}
