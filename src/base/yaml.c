/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml.h"

#include <yaml.h>

/* The tree of the largest file: nodes and texts are blocks of a heap, each with a cache line. */
#define HEAP_MAX_BYTES (64 * MIB)

struct reader {
    struct yaml *y;
    const char *source;
    struct slice text;
    struct problems *problems;
    yaml_parser_t parser;
    unsigned depth, nodes;
    struct yaml_node *open[YAML_MAX_DEPTH]; /* the path of collections down to here */
    struct yaml_node *last[YAML_MAX_DEPTH]; /* the newest child of each */
    const char *key;                        /* a key whose value comes next */
    unsigned key_line, key_column;
};

static unsigned line_of(yaml_mark_t mark)
{
    return (unsigned)mark.line + 1;
}

/* Lines up to byte OFFSET, for the errors that libyaml places by byte only. */
static unsigned line_at(struct slice text, size_t offset)
{
    const char *at = text.data;
    unsigned line = 1;

    for (size_t i = 0; i < offset && i < text.size; i++)
        line += at[i] == '\n' || (at[i] == '\r' && (i + 1 == text.size || at[i + 1] != '\n'));
    return line;
}

/* What libyaml could not read; nothing can be read after it. */
static int refuse_syntax(struct reader *r)
{
    const yaml_parser_t *p = &r->parser;
    const char *problem = p->problem ? p->problem : "it cannot be read";

    if (p->error == YAML_MEMORY_ERROR)
        problems_add(r->problems, r->source, 0, "there is not enough memory to read it");
    else if (p->error == YAML_READER_ERROR)
        problems_add(r->problems, r->source, line_at(r->text, p->problem_offset),
                     "this is not text in UTF-8 (%s, byte %zu of the file)", problem,
                     p->problem_offset + 1);
    else if (p->context)
        problems_add(r->problems, r->source, line_of(p->problem_mark),
                     "this is not YAML: %s, column %zu (%s that begins in line %u)", problem,
                     p->problem_mark.column + 1, p->context, line_of(p->context_mark));
    else
        problems_add(r->problems, r->source, line_of(p->problem_mark),
                     "this is not YAML: %s, column %zu", problem, p->problem_mark.column + 1);
    return E_FORMAT;
}

static bool is_core_tag(const char *tag)
{
    static const char *const core[] = { "str", "int", "float", "bool", "null", "map", "seq" };
    static const char prefix[] = "tag:yaml.org,2002:";

    if (strncmp(tag, prefix, sizeof(prefix) - 1) != 0)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(core); i++)
        if (strcmp(tag + sizeof(prefix) - 1, core[i]) == 0)
            return true;
    return false;
}

static void check_extras(struct reader *r, const yaml_char_t *anchor, const yaml_char_t *tag,
                         unsigned line)
{
    if (anchor)
        problems_add(r->problems, r->source, line,
                     "the anchor '&%.60s' is not allowed; write the value where it is used",
                     (const char *)anchor);
    if (tag && !is_core_tag((const char *)tag))
        problems_add(r->problems, r->source, line,
                     "the tag '%.60s' is not allowed; values are plain text, numbers and lists",
                     (const char *)tag);
}

/* The collection that is being filled; NULL at the top. */
static struct yaml_node *parent(const struct reader *r)
{
    return r->depth ? r->open[r->depth - 1] : NULL;
}

static bool wants_key(const struct reader *r)
{
    return parent(r) && parent(r)->kind == YAML_NODE_MAPPING && !r->key;
}

/* Whether KEY is there already; the second one stays out of the tree. */
static bool is_repeated(struct reader *r)
{
    const struct yaml_node *first = yaml_find(parent(r), r->key);

    if (!first)
        return false;
    problems_add(r->problems, r->source, r->key_line,
                 "'%.60s' is given again (first in line %u); keep one of them", r->key,
                 first->line);
    return true;
}

/* Put NODE into its place. A node that belongs nowhere is left to the heap. */
static void attach(struct reader *r, struct yaml_node *node)
{
    struct yaml_node *up = parent(r);
    unsigned level = r->depth - 1;

    if (!up) {
        r->y->root = node;
        return;
    }
    if (up->kind == YAML_NODE_MAPPING) {
        bool repeated = is_repeated(r);

        node->key = r->key;
        node->line = r->key_line;
        node->column = r->key_column;
        r->key = NULL;
        if (repeated)
            return;
    }
    if (r->last[level])
        r->last[level]->next = node;
    else
        up->first = node;
    r->last[level] = node;
    up->count++;
}

static struct yaml_node *new_node(struct reader *r, enum yaml_kind kind, yaml_mark_t mark)
{
    struct yaml_node *node = heap_try_alloc(&r->y->heap, 1, sizeof(*node));

    if (!node || ++r->nodes > YAML_MAX_NODES) {
        problems_add(r->problems, r->source, line_of(mark),
                     "there are more than %u values here; the rest was not read", YAML_MAX_NODES);
        return NULL;
    }
    *node = (struct yaml_node){ .kind = kind,
                                .line = line_of(mark),
                                .column = (unsigned)mark.column + 1 };
    return node;
}

static char *copy_text(struct reader *r, const yaml_event_t *e)
{
    const char *value = (const char *)e->data.scalar.value;
    char *text = heap_try_alloc(&r->y->heap, e->data.scalar.length + 1, 1);

    if (!text) {
        problems_add(r->problems, r->source, 0, "there is not enough memory to read it");
        return NULL;
    }
    memcpy(text, value, e->data.scalar.length);
    if (strlen(text) != e->data.scalar.length)
        problems_add(r->problems, r->source, line_of(e->start_mark),
                     "the text holds a zero byte; remove it");
    return text;
}

static int on_scalar(struct reader *r, const yaml_event_t *e)
{
    char *text = copy_text(r, e);
    struct yaml_node *node;

    check_extras(r, e->data.scalar.anchor, e->data.scalar.tag, line_of(e->start_mark));
    if (!text)
        return E_FORMAT;
    if (wants_key(r)) {
        r->key = text;
        r->key_line = line_of(e->start_mark);
        r->key_column = (unsigned)e->start_mark.column + 1;
        return 0;
    }
    node = new_node(r, YAML_NODE_SCALAR, e->start_mark);
    if (!node)
        return E_FORMAT;
    node->text = text;
    node->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    attach(r, node);
    return 0;
}

static int on_open(struct reader *r, enum yaml_kind kind, const yaml_event_t *e)
{
    unsigned line = line_of(e->start_mark);
    struct yaml_node *node;

    if (kind == YAML_NODE_MAPPING)
        check_extras(r, e->data.mapping_start.anchor, e->data.mapping_start.tag, line);
    else
        check_extras(r, e->data.sequence_start.anchor, e->data.sequence_start.tag, line);
    if (wants_key(r)) {
        problems_add(r->problems, r->source, line,
                     "a key must be plain text, not a list or a section; the rest was not read");
        return E_FORMAT;
    }
    if (r->depth == YAML_MAX_DEPTH) {
        problems_add(r->problems, r->source, line,
                     "sections and lists are nested more than %u deep; the rest was not read",
                     YAML_MAX_DEPTH);
        return E_FORMAT;
    }
    node = new_node(r, kind, e->start_mark);
    if (!node)
        return E_FORMAT;
    attach(r, node);
    r->open[r->depth] = node;
    r->last[r->depth] = NULL;
    r->depth++;
    return 0;
}

static int on_alias(struct reader *r, const yaml_event_t *e)
{
    struct yaml_node *node;

    problems_add(r->problems, r->source, line_of(e->start_mark),
                 "the alias '*%.60s' is not allowed; write the value out",
                 (const char *)e->data.alias.anchor);
    if (wants_key(r))
        return E_FORMAT;
    /* Something must take its place, or the next key would be read as its value. */
    node = new_node(r, YAML_NODE_SCALAR, e->start_mark);
    if (!node)
        return E_FORMAT;
    node->text = "";
    attach(r, node);
    return 0;
}

static int on_event(struct reader *r, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_SCALAR_EVENT:
        return on_scalar(r, e);
    case YAML_MAPPING_START_EVENT:
        return on_open(r, YAML_NODE_MAPPING, e);
    case YAML_SEQUENCE_START_EVENT:
        return on_open(r, YAML_NODE_SEQUENCE, e);
    case YAML_ALIAS_EVENT:
        return on_alias(r, e);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        r->depth--;
        return 0;
    case YAML_DOCUMENT_START_EVENT:
        if (!r->y->root)
            return 0;
        problems_add(r->problems, r->source, line_of(e->start_mark),
                     "a second document begins here; the file must hold one");
        return E_FORMAT;
    default:
        return 0;
    }
}

static int read_events(struct reader *r)
{
    bool more = true;
    int rc = 0;

    while (more && !rc) {
        yaml_event_t event;

        if (!yaml_parser_parse(&r->parser, &event))
            return refuse_syntax(r);
        more = event.type != YAML_STREAM_END_EVENT;
        rc = on_event(r, &event);
        yaml_event_delete(&event);
    }
    return rc;
}

int yaml_read(struct yaml *y, struct slice text, const char *source, struct problems *problems)
{
    struct reader r = { .y = y, .source = source, .text = text, .problems = problems };
    unsigned before = problems->count;

    *y = (struct yaml){ 0 };
    heap_init(&y->heap, HEAP_MAX_BYTES);
    if (text.size > YAML_MAX_BYTES) {
        problems_add(problems, source, 0, "%zu bytes are more than the %zu that are read",
                     text.size, YAML_MAX_BYTES);
        return E_FORMAT;
    }
    if (!yaml_parser_initialize(&r.parser)) {
        problems_add(problems, source, 0, "there is not enough memory to read it");
        return E_FORMAT;
    }
    yaml_parser_set_input_string(&r.parser, text.size ? text.data : "", text.size);
    y->whole = read_events(&r) == 0;
    yaml_parser_delete(&r.parser);
    return problems->count > before ? E_FORMAT : 0;
}

void yaml_release(struct yaml *y)
{
    heap_release(&y->heap);
    y->root = NULL;
}

const struct yaml_node *yaml_find(const struct yaml_node *node, const char *key)
{
    for (const struct yaml_node *n = node->first; n; n = n->next)
        if (strcmp(n->key, key) == 0)
            return n;
    return NULL;
}

bool yaml_is_null(const struct yaml_node *node)
{
    return node->kind == YAML_NODE_SCALAR && !node->quoted &&
           (!node->text[0] || strcmp(node->text, "~") == 0 || strcmp(node->text, "null") == 0);
}
