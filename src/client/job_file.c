/* SPDX-License-Identifier: Apache-2.0 */
#include "client/job_file.h"

#include <assert.h>

#include "base/yaml.h"
#include "client/job_columns.h"
#include "client/job_internal.h"

void job_file_init(struct job_file *f, struct heap *heap)
{
    *f = (struct job_file){ .heap = heap };
    problems_init(&f->problems, heap);
    props_init(&f->settings, heap);
}

void job_file_release(struct job_file *f)
{
    for (unsigned i = 0; f->heap && i < SETTINGS_MAX; i++)
        heap_free(f->heap, (char *)f->values[i].text);
    problems_release(&f->problems);
    props_release(&f->settings);
    *f = (struct job_file){ 0 };
}

const struct setting_value *job_file_value(const struct job_file *f, const char *path)
{
    const struct setting *s = setting_find(path);

    assert(s);
    return &f->values[setting_index(s)];
}

const char *job_file_effective(const struct job_file *f, const struct setting *s)
{
    const struct setting_value *v = &f->values[setting_index(s)];
    const struct setting_value *model = job_file_value(f, "model.kind");
    const struct setting *kind = setting_find("model.kind");

    if (v->given)
        return v->bad ? NULL : v->text;
    if (model->bad)
        return NULL;
    return setting_default(s, model->given ? model->text : kind->fallback);
}

/* ---- taking over ---- */

void job_file_forget(struct job_file *f, const struct setting *s)
{
    struct setting_value *v = &f->values[setting_index(s)];

    heap_free(f->heap, (char *)v->text);
    *v = (struct setting_value){ 0 };
}

static void take(struct job_file *f, const struct setting *s, const char *text, const char *source,
                 unsigned line)
{
    struct setting_value *v = &f->values[setting_index(s)];
    struct error err = { 0 };

    job_file_forget(f, s);
    v->given = true;
    v->text = heap_strdup(f->heap, text);
    v->source = source;
    v->line = line;
    v->bad = setting_value_read(s, text, v, &err) != 0;
    if (!v->bad)
        return;
    /* An option is named by its source; what stands in a file or after --set is not. */
    if (line || strcmp(source, "--set") == 0)
        problems_add(&f->problems, source, line, "%s.%s: %s", s->section, s->name, err.text);
    else
        problems_add(&f->problems, source, 0, "%s", err.text);
}

void job_file_set(struct job_file *f, const struct setting *s, const char *text, const char *source)
{
    const struct setting *other = job_file_rival(s);

    if (other && f->values[setting_index(other)].line)
        job_file_forget(f, other);
    take(f, s, text, source, 0);
}

/* KEY, "section.name" or a name alone, is not a setting; say what may have been meant. */
static void refuse_assignment(struct job_file *f, const char *key)
{
    size_t size = strcspn(key, ".");
    const struct section *section = NULL;
    char name[QUOTED_MAX + 4], near[512];

    if (key[size] == '.') {
        snprintf(name, sizeof(name), "%.*s", (int)size, key);
        section = section_find(name);
    }
    setting_suggest(section ? section->name : NULL, section ? key + size + 1 : key, near,
                    sizeof(near));
    problems_add(&f->problems, "--set", 0, "%s: there is no such setting%s", key, near);
}

void job_file_assign(struct job_file *f, const char *assignment)
{
    const char *equals = strchr(assignment, '=');
    const struct setting *s;
    char key[QUOTED_MAX + 4];

    if (!equals || equals == assignment) {
        problems_add(&f->problems, "--set", 0, "'%.*s' is not of the form key=value", QUOTED_MAX,
                     assignment);
        return;
    }
    snprintf(key, sizeof(key), "%.*s", (int)MIN(equals - assignment, QUOTED_MAX + 1), assignment);
    s = setting_resolve(key);
    if (s)
        job_file_set(f, s, equals + 1, "--set");
    else
        refuse_assignment(f, key);
}

/* ---- the file ---- */

/* "columns: { label: click, numeric: [age, price] }" */
static void take_columns(struct job_file *f, const struct setting *s, const struct yaml_node *node,
                         const char *source)
{
    struct buf text;

    buf_init(&text, f->heap, YAML_MAX_BYTES);
    if (job_columns_write(node, source, &f->problems, &text) == 0)
        take(f, s, text.size ? text.data : "", source, node->line);
    buf_release(&text);
}

static void take_node(struct job_file *f, const struct setting *s, const struct yaml_node *node,
                      const char *source)
{
    const struct setting_value *before = &f->values[setting_index(s)];

    if (before->given)
        problems_add(&f->problems, source, node->line,
                     "%s.%s: is given again (first in line %u); keep one of them", s->section,
                     s->name, before->line);
    else if (s->type == SETTING_COLUMNS && node->kind == YAML_NODE_MAPPING)
        take_columns(f, s, node, source);
    else if (node->kind != YAML_NODE_SCALAR)
        problems_add(&f->problems, source, node->line,
                     "%s.%s: takes one value, not a %s; write it on the same line", s->section,
                     s->name, node->kind == YAML_NODE_MAPPING ? "section" : "list");
    else
        take(f, s, yaml_is_null(node) ? "" : node->text, source, node->line);
}

static void refuse_key(struct job_file *f, const char *section, const struct yaml_node *node,
                       const char *source)
{
    char near[512];

    setting_suggest(section, node->key, near, sizeof(near));
    problems_add(&f->problems, source, node->line, "%s%s%.*s: there is no such setting%s",
                 section ? section : "", section ? "." : "", QUOTED_MAX, node->key, near);
}

static void take_section(struct job_file *f, const struct section *section,
                         const struct yaml_node *node, const char *source)
{
    /* A section whose settings are all commented out. */
    if (yaml_is_null(node))
        return;
    if (node->kind == YAML_NODE_SCALAR && section->main) {
        take_node(f, setting_in(section->name, section->main), node, source);
        return;
    }
    if (node->kind != YAML_NODE_MAPPING) {
        problems_add(&f->problems, source, node->line,
                     "%s: %s; write its settings below it, indented, as 'name: value'",
                     section->name,
                     section->main ? "takes one value, or is a section" : "is a section");
        return;
    }
    for (const struct yaml_node *n = node->first; n; n = n->next) {
        const struct setting *s = setting_in(section->name, n->key);

        if (s)
            take_node(f, s, n, source);
        else
            refuse_key(f, section->name, n, source);
    }
}

static void take_root(struct job_file *f, const struct yaml_node *root, const char *source)
{
    if (!root || yaml_is_null(root)) {
        if (f->problems.count == 0)
            problems_add(&f->problems, source, 0,
                         "there is nothing in it; 'gust help job' says what a job file holds");
        return;
    }
    if (root->kind != YAML_NODE_MAPPING) {
        problems_add(&f->problems, source, root->line,
                     "this is not a job file: it must hold lines such as 'model: factorisation'; "
                     "'gust help job' says more");
        return;
    }
    for (const struct yaml_node *n = root->first; n; n = n->next) {
        const struct section *section = section_find(n->key);
        const struct setting *s = setting_find(n->key);

        if (section)
            take_section(f, section, n, source);
        else if (s)
            take_node(f, s, n, source);
        else
            refuse_key(f, NULL, n, source);
    }
}

void job_file_read(struct job_file *f, struct slice text, const char *source)
{
    struct yaml y;

    f->source = source;
    yaml_read(&y, text, source, &f->problems);
    f->partial = !y.whole || !y.root || y.root->kind != YAML_NODE_MAPPING;
    take_root(f, y.root, source);
    yaml_release(&y);
}
