/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of examples, and what follows from them. */
#include "data/statistics.h"

void statistics_init(struct statistics *s, const struct transform *t, struct heap *heap)
{
    *s = (struct statistics){ .heap = heap, .dense = t->data.dense };
    s->min = heap_alloc(heap, MAX(s->dense, 1u) * sizeof(*s->min));
    s->max = heap_alloc(heap, MAX(s->dense, 1u) * sizeof(*s->max));
    if (t->labels == LABELS_TEXTS)
        s->texts = heap_alloc(heap, TRANSFORM_CLASSES_MAX * sizeof(*s->texts));
    statistics_reset(s);
}

void statistics_release(struct statistics *s)
{
    if (!s->heap)
        return;
    heap_free(s->heap, s->min);
    heap_free(s->heap, s->max);
    heap_free(s->heap, s->texts);
    *s = (struct statistics){ 0 };
}

void statistics_reset(struct statistics *s)
{
    for (uint32_t i = 0; i < s->dense; i++) {
        s->min[i] = INFINITY;
        s->max[i] = -INFINITY;
    }
    s->value_count = s->text_count = 0;
    s->many = false;
    s->index_min = s->entries_min = UINT32_MAX;
    s->index_max = s->entries_max = 0;
    s->all_ones = true;
}

/* ---- labels ---- */

static void note_value(struct statistics *s, float value)
{
    uint32_t lo = 0, hi = s->value_count;

    if (s->many)
        return;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;

        if (s->values[mid] < value)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < s->value_count && s->values[lo] == value)
        return;
    if (s->value_count == TRANSFORM_CLASSES_MAX) {
        s->many = true;
        return;
    }
    memmove(&s->values[lo + 1], &s->values[lo], (s->value_count - lo) * sizeof(*s->values));
    s->values[lo] = value;
    s->value_count++;
}

/* TEXT is shorter than TRANSFORM_NAME_MAX and holds no zero byte. */
static void note_text(struct statistics *s, struct slice text)
{
    char name[TRANSFORM_NAME_MAX] = { 0 };
    uint32_t lo = 0, hi = s->text_count;

    memcpy(name, text.data, text.size);
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;

        if (strcmp(s->texts[mid], name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < s->text_count && strcmp(s->texts[lo], name) == 0)
        return;
    if (s->text_count == TRANSFORM_CLASSES_MAX) {
        s->many = true;
        return;
    }
    memmove(s->texts[lo + 1], s->texts[lo], (s->text_count - lo) * sizeof(*s->texts));
    memcpy(s->texts[lo], name, sizeof(name));
    s->text_count++;
}

/* ---- examples ---- */

static void note_entries(struct statistics *s, const uint32_t *words)
{
    uint32_t count = words[1];

    for (uint32_t i = 0; s->all_ones && i < count; i++)
        s->all_ones = gust_f32(&words[3 + 2 * i]) == 1;
    if (count) {
        s->index_min = MIN(s->index_min, words[2]);
        s->index_max = MAX(s->index_max, words[2 * count]);
    }
    s->entries_min = MIN(s->entries_min, count);
    s->entries_max = MAX(s->entries_max, count);
}

void statistics_note(struct statistics *s, const struct transform *t,
                     const struct transform_example *e)
{
    if (t->labels == LABELS_TEXTS)
        note_text(s, e->label_text);
    else
        note_value(s, gust_f32(e->words));
    if (t->format == TRANSFORM_LIBSVM)
        note_entries(s, e->words);
    for (uint32_t i = 0; i < s->dense; i++) {
        float x = gust_f32(&e->words[1 + i]);

        /* A missing value is NaN and less than nothing. */
        s->min[i] = x < s->min[i] ? x : s->min[i];
        s->max[i] = x > s->max[i] ? x : s->max[i];
    }
}

void statistics_merge(struct statistics *into, const struct statistics *from)
{
    for (uint32_t i = 0; i < into->dense; i++) {
        into->min[i] = MIN(into->min[i], from->min[i]);
        into->max[i] = MAX(into->max[i], from->max[i]);
    }
    for (uint32_t i = 0; i < from->value_count; i++)
        note_value(into, from->values[i]);
    for (uint32_t i = 0; i < from->text_count; i++)
        note_text(into, slice_str(from->texts[i]));
    into->many |= from->many;
    into->index_min = MIN(into->index_min, from->index_min);
    into->index_max = MAX(into->index_max, from->index_max);
    into->entries_min = MIN(into->entries_min, from->entries_min);
    into->entries_max = MAX(into->entries_max, from->entries_max);
    into->all_ones &= from->all_ones;
}

/* ---- what follows ---- */

static void set_classes(struct transform *t, const float *values, uint32_t count)
{
    t->labels = LABELS_VALUES;
    t->data.classes = count;
    t->classes = heap_alloc(t->heap, count * sizeof(*t->classes));
    for (uint32_t i = 0; i < count; i++)
        t->classes[i].value = values[i];
}

/* Labels -1 and 1, 0 and 1, or whole numbers from 0 or 1 without a gap are taken for classes. */
static bool find_classes(const struct statistics *s, struct transform *t)
{
    static const float signs[] = { -1, 1 }, bits[] = { 0, 1 };
    const float *v = s->values;
    uint32_t n = s->value_count;

    if (s->many || n == 0)
        return false;
    if (v[0] == -1 && (n == 1 || (n == 2 && v[1] == 1))) {
        set_classes(t, signs, 2);
        return true;
    }
    if ((v[0] == 0 || v[0] == 1) && v[n - 1] <= 1) {
        set_classes(t, bits, 2);
        return true;
    }
    for (uint32_t i = 0; i < n; i++)
        if ((v[0] != 0 && v[0] != 1) || v[i] != v[0] + (float)i)
            return false;
    set_classes(t, v, n);
    return true;
}

static int finish_labels(const struct statistics *s, struct transform *t, enum labels_wish wish,
                         struct error *err)
{
    if (t->labels == LABELS_TEXTS) {
        if (wish == LABELS_AS_NUMBERS)
            return fail(err, E_INVALID, "the labels are texts such as '%s', not numbers",
                        s->texts[0]);
        if (s->many || s->text_count < 2)
            return fail(err, E_INVALID,
                        "the labels are %s different texts; classes must be 2 to %u",
                        s->many ? "too many" : "no", TRANSFORM_CLASSES_MAX);
        t->data.classes = s->text_count;
        t->classes = heap_alloc(t->heap, s->text_count * sizeof(*t->classes));
        for (uint32_t i = 0; i < s->text_count; i++)
            memcpy(t->classes[i].text, s->texts[i], sizeof(t->classes[i].text));
        return 0;
    }
    if (wish == LABELS_AS_NUMBERS || (wish == LABELS_FIND_OUT && t->data.keys))
        return 0;
    if (find_classes(s, t) || wish == LABELS_FIND_OUT)
        return 0;
    if (s->many || s->value_count < 2)
        return fail(err, E_INVALID, "the labels are %s different numbers; classes must be 2 to %u",
                    s->many ? "too many" : "no", TRANSFORM_CLASSES_MAX);
    set_classes(t, s->values, s->value_count);
    return 0;
}

/* Indices from 1, or from 0 if there is a 0; values only where they are not all 1. */
static void finish_libsvm(const struct statistics *s, struct transform *t)
{
    bool none = s->index_min > s->index_max;

    t->index_base = !none && s->index_min == 0 ? 0 : 1;
    t->data.dims = none ? 1 : (uint64_t)s->index_max + 1 - t->index_base;
    t->data.sparse = !s->all_ones;
    t->data.ones = 0;
    if (s->all_ones)
        t->data.ones =
            s->entries_min == s->entries_max && s->entries_min ? s->entries_min : GUST_VARIES;
}

int statistics_finish(const struct statistics *s, struct transform *t, enum labels_wish wish,
                      struct error *err)
{
    uint32_t at = 0;

    if (t->format == TRANSFORM_LIBSVM)
        finish_libsvm(s, t);
    for (uint32_t i = 0; i < t->column_count; i++) {
        if (t->columns[i].role != ROLE_NUMERIC)
            continue;
        if (s->min[at] <= s->max[at]) {
            t->columns[i].min = (double)s->min[at];
            t->columns[i].max = (double)s->max[at];
        }
        at++;
    }
    return finish_labels(s, t, wish, err);
}
