/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/result.h"

#include <inttypes.h>

#include "cli/text.h"

static const char *opening(const struct summary *s, const char *status)
{
    if (strcmp(status, "done") != 0)
        return strcmp(status, "interrupted") == 0 ? "Stopped"
               : strcmp(status, "failed") == 0    ? "Failed"
               : strcmp(status, "running") == 0   ? "Running"
                                                  : "Died";
    return strcmp(s->end, "target") == 0     ? "Reached the target"
           : strcmp(s->end, "patience") == 0 ? "Stopped early"
                                             : "Done";
}

void result_print(const struct summary *s, const char *status, const char *folder)
{
    const struct evaluation *e = summary_evaluation(s);

    printf("%s", opening(s, status));
    if (e && isnan(e->values[0]))
        e = NULL; /* nothing is held out */
    if (e) {
        printf(": %s %.5f", s->metrics[0].name, e->values[0]);
        /* With a failure, the model is of the last complete state; else an earlier one is the best.
         */
        if (e == &s->evaluations[s->evaluation_count - 1])
            printf(" after");
        else if (e == &s->evaluations[s->best])
            printf(" at epoch %.4g, the best of", e->epoch);
        else
            printf(" at epoch %.4g, the last state that was saved of", e->epoch);
    } else {
        printf(" after");
    }
    printf(" %.4g epochs, %s steps\n", s->epochs,
           text_count(s->steps >= 0 && s->steps < 1e18 ? (uint64_t)s->steps : 0).s);
    if (e && s->saved && e != &s->evaluations[s->best])
        printf("Best    %s %.5f at epoch %.4g; --patience keeps the best model\n",
               s->metrics[0].name, s->evaluations[s->best].values[0],
               s->evaluations[s->best].epoch);
    if (s->error[0])
        printf("Error   %s\n", s->error);
    printf("Time    %s training", text_seconds(s->seconds_training).s);
    if (s->seconds_wall > 0)
        printf(", %s in all (%s until all functions were ready)", text_seconds(s->seconds_wall).s,
               text_seconds(s->seconds_start).s);
    printf("\n");
    if (s->seconds_training > 0)
        printf("Speed   %s examples/s with %" PRIu64 " function%s of %" PRIu64 " MB\n",
               text_short(s->examples / s->seconds_training).s, s->workers,
               s->workers == 1 ? "" : "s", s->memory_mb);
    if (s->heap_bytes > 0)
        printf("Memory  %s of heap in the largest function; planned in all %s\n",
               text_bytes(s->heap_bytes).s, text_bytes(s->need_bytes).s);
    if (s->saved)
        printf("Model   %s/%s\n", folder, MODEL_NAME);
    printf("Report  %s/%s\n", folder, REPORT_NAME);
}

void result_print_bill(const struct summary *s)
{
    printf("Bill%s %s, prices of %s, USD\n", s->bill_as_if ? " as if on" : ":", s->bill_name,
           s->bill_date);
    for (unsigned i = 0; i < s->item_count; i++)
        printf("  %-40s %10.6f\n", s->items[i].name, s->items[i].amount_usd);
    printf("  %-40s %10.6f\n", "total", s->bill_usd);
}
