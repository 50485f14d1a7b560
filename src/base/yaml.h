/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML as a small tree that remembers lines: the file through which Gust uses libyaml, and the
 * only one. Plain data only: aliases, anchors, tags beyond the core ones, repeated keys, keys
 * that are not text and further documents are refused, and so is anything too large or too deep.
 *
 * For the client: what runs in functions reads props.h and does not link libyaml.
 */
#ifndef GUST_BASE_YAML_H
#define GUST_BASE_YAML_H

#include "base/problems.h"

#define YAML_MAX_BYTES ((size_t)1 << 20)
/* Repeated keys are looked for one by one. */
#define YAML_MAX_NODES 4096u
#define YAML_MAX_DEPTH 16u

enum yaml_kind { YAML_NODE_SCALAR, YAML_NODE_MAPPING, YAML_NODE_SEQUENCE };

struct yaml_node {
    enum yaml_kind kind;
    bool quoted;             /* scalars: written in quotes or as a block, so always text */
    unsigned line, column;   /* of its first character, from 1; for a mapping's value, of its key */
    const char *key;         /* in a mapping; NULL elsewhere */
    const char *text;        /* scalars; NULL otherwise */
    struct yaml_node *first; /* children, in the order of the file */
    struct yaml_node *next;  /* sibling */
    unsigned count;          /* of children */
};

struct yaml {
    struct heap heap; /* of the tree alone */
    struct yaml_node *root;
    bool whole; /* it was read to its end */
};

/*
 * Read TEXT, all of SOURCE. Everything that is wrong goes to PROBLEMS with its line, and E_FORMAT
 * is returned; Y is then the tree of what could be read (its root may be NULL), so that the
 * caller can go on and find what else is wrong. Release Y in any case.
 */
int yaml_read(struct yaml *y, struct slice text, const char *source, struct problems *problems);
/* Accepts a zeroed one. */
void yaml_release(struct yaml *y);

/* The value of KEY in mapping NODE, or NULL. */
const struct yaml_node *yaml_find(const struct yaml_node *node, const char *key);

/* A plain scalar that says "nothing": empty, ~ or null. */
bool yaml_is_null(const struct yaml_node *node);

#endif
