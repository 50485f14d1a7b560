/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/report.h"

#include "base/wire.h"

#define REPORT_MAGIC 0x31525047u /* "GPR1": the 1 is the version */

_Static_assert(REPORT_STEPS_MAX * 16 + 512 < PARAMS_ENTRY_MAX, "a report is one entry of a log");

struct params_key report_log(uint32_t rank)
{
    return (struct params_key){ .kind = PARAMS_LOG, .rank = rank };
}

/* The times as an array of words, so that encoding and adding need no list of the fields. */
#define TIMES_WORDS (sizeof(struct report_times) / sizeof(uint64_t))
_Static_assert(sizeof(struct report_times) % sizeof(uint64_t) == 0, "times are words");

static uint64_t *words(struct report_times *t)
{
    return (uint64_t *)t;
}

void report_times_add(struct report_times *a, const struct report_times *b)
{
    for (size_t i = 0; i < TIMES_WORDS; i++)
        words(a)[i] += ((const uint64_t *)b)[i];
}

static void encode_steps(const struct report *r, struct buf *out)
{
    wire_put_u32(out, r->count);
    wire_put_u64(out, r->examples);
    for (size_t i = 0; i < TIMES_WORDS; i++)
        wire_put_u64(out, ((const uint64_t *)&r->times)[i]);
    for (uint32_t i = 0; r->rank == 0 && i < r->count; i++) {
        wire_put_f64(out, r->losses[i]);
        wire_put_f64(out, r->weights[i]);
    }
}

void report_encode(const struct report *r, struct buf *out)
{
    buf_reset(out);
    wire_put_u32(out, REPORT_MAGIC);
    wire_put_u32(out, r->kind);
    wire_put_u32(out, r->rank);
    wire_put_u32(out, r->attempt);
    wire_put_u64(out, r->step);
    wire_put_u64(out, r->clock_ns);
    switch (r->kind) {
    case REPORT_READY:
    case REPORT_DONE:
        wire_put_u64(out, r->ready_ns);
        wire_put_u64(out, r->heap_bytes);
        wire_put_u64(out, r->first_at);
        break;
    case REPORT_STEPS:
        encode_steps(r, out);
        break;
    case REPORT_EVAL:
        wire_put_u64(out, r->took_ns);
        for (int i = 0; i < GUST_SUMS_MAX; i++)
            wire_put_f64(out, r->sums[i]);
        break;
    case REPORT_BASE:
        wire_put_u64(out, r->took_ns);
        break;
    case REPORT_HASH:
        wire_put_u64(out, r->hash);
        break;
    default:
        break;
    }
}

static void decode_steps(struct wire_reader *w, struct report *out)
{
    out->count = wire_u32(w);
    if (out->count > REPORT_STEPS_MAX)
        w->failed = true;
    out->examples = wire_u64(w);
    for (size_t i = 0; i < TIMES_WORDS; i++)
        words(&out->times)[i] = wire_u64(w);
    for (uint32_t i = 0; !w->failed && i < out->count; i++) {
        out->losses[i] = out->rank == 0 ? wire_f64(w) : 0;
        out->weights[i] = out->rank == 0 ? wire_f64(w) : 0;
    }
}

int report_decode(struct report *out, struct slice entry, struct error *err)
{
    struct wire_reader w;
    uint32_t kind;

    wire_read(&w, entry);
    if (wire_u32(&w) != REPORT_MAGIC)
        return fail(err, E_FORMAT, "an entry of %zu bytes is not a report", entry.size);
    kind = wire_u32(&w);
    if (kind == 0 || kind >= REPORT_KINDS)
        return fail(err, E_FORMAT, "a report of unknown kind %u", kind);
    out->kind = kind;
    out->rank = wire_u32(&w);
    out->attempt = wire_u32(&w);
    out->step = wire_u64(&w);
    out->clock_ns = wire_u64(&w);
    switch (out->kind) {
    case REPORT_READY:
    case REPORT_DONE:
        out->ready_ns = wire_u64(&w);
        out->heap_bytes = wire_u64(&w);
        out->first_at = wire_u64(&w);
        break;
    case REPORT_STEPS:
        decode_steps(&w, out);
        break;
    case REPORT_EVAL:
        out->took_ns = wire_u64(&w);
        for (int i = 0; i < GUST_SUMS_MAX; i++)
            out->sums[i] = wire_f64(&w);
        break;
    case REPORT_BASE:
        out->took_ns = wire_u64(&w);
        break;
    case REPORT_HASH:
        out->hash = wire_u64(&w);
        break;
    default:
        break;
    }
    if (!wire_done(&w))
        return fail(err, E_FORMAT, "a report of %zu bytes is cut off or too long", entry.size);
    return 0;
}
