/* SPDX-License-Identifier: Apache-2.0 */
#include "base/problems.h"

#include <stdarg.h>

#define TEXT_MAX 1000

void problems_init(struct problems *p, struct heap *heap)
{
    *p = (struct problems){ .heap = heap };
}

void problems_release(struct problems *p)
{
    for (unsigned i = 0; i < p->kept; i++)
        heap_free(p->heap, p->items[i].text);
    if (p->heap)
        heap_free(p->heap, p->items);
    *p = (struct problems){ .heap = p->heap };
}

/* Where a problem belongs: behind all of its source in lines up to its own. */
static unsigned place(const struct problems *p, const char *source, unsigned line)
{
    unsigned at = p->kept;

    while (at > 0 && strcmp(p->items[at - 1].source, source) == 0 && p->items[at - 1].line > line)
        at--;
    return at;
}

/* What somebody wrote is quoted in sentences; it must not move the cursor of whoever reads them. */
static void defuse(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 32 || *text == 127)
            *text = '?';
}

void problems_add(struct problems *p, const char *source, unsigned line, const char *format, ...)
{
    char text[TEXT_MAX];
    va_list args;
    unsigned at;

    p->count++;
    if (p->kept == PROBLEMS_MAX)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    defuse(text);
    if (!p->items)
        p->items = heap_alloc(p->heap, PROBLEMS_MAX * sizeof(*p->items));
    at = place(p, source, line);
    memmove(p->items + at + 1, p->items + at, (p->kept - at) * sizeof(*p->items));
    p->items[at] = (struct problem){ source, line, heap_strdup(p->heap, text) };
    p->kept++;
}
