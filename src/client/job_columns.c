/* SPDX-License-Identifier: Apache-2.0 */
#include "client/job_columns.h"

#include "data/transform.h"

/* Of what somebody wrote, this much is repeated. */
#define QUOTED_MAX 60
#define ROLES_TEXT "label, weight, numeric, categorical, user, item or ignore"

/* One name; the form that importers read has no place for these characters. */
static int write_name(const struct yaml_node *node, const char *comma, const char *source,
                      struct problems *problems, struct buf *out)
{
    const char *why = NULL;

    if (node->kind != YAML_NODE_SCALAR)
        why = "takes names of columns, or lists of them, and nothing deeper";
    else if (!node->text[0])
        why = "names no column";
    else if (strpbrk(node->text, " \t\r\n,="))
        why = "cannot name a column with a blank, a comma or '=' in it; rename it in the file";
    if (why) {
        problems_add(problems, source, node->line, "data.columns: %s", why);
        return E_INVALID;
    }
    buf_printf(out, "%s%s", comma, node->text);
    return 0;
}

static int write_role(const struct yaml_node *role, const char *source, struct problems *problems,
                      struct buf *out)
{
    const struct yaml_node *name = role->kind == YAML_NODE_SEQUENCE ? role->first : role;
    int rc = 0;

    if (transform_role_find(role->key) < 0) {
        problems_add(problems, source, role->line,
                     "data.columns: '%.*s' is no role; use " ROLES_TEXT, QUOTED_MAX, role->key);
        return E_INVALID;
    }
    buf_printf(out, "%s%s=", out->size ? " " : "", role->key);
    for (const char *comma = ""; name && !rc; comma = ",") {
        rc = write_name(name, comma, source, problems, out);
        name = name == role ? NULL : name->next;
    }
    return rc;
}

int job_columns_write(const struct yaml_node *node, const char *source, struct problems *problems,
                      struct buf *out)
{
    int rc = 0;

    for (const struct yaml_node *role = node->first; role; role = role->next)
        rc = write_role(role, source, problems, out) ? E_INVALID : rc;
    return rc;
}

int job_columns_check(const char *text, struct error *err)
{
    bool begun = false;

    for (const char *at = text + strspn(text, ", \t"); *at; at += strspn(at, ", \t")) {
        size_t size = strcspn(at, ", \t");
        const char *equals = memchr(at, '=', size);
        char role[16];

        snprintf(role, sizeof(role), "%.*s",
                 equals ? (int)MIN((size_t)(equals - at), sizeof(role) - 1) : 0, at);
        if (equals && transform_role_find(role) < 0)
            return fail(err, E_INVALID, "'%s' is no role; use " ROLES_TEXT, role);
        begun |= equals != NULL;
        if (!begun)
            return fail(err, E_INVALID, "begins with a role, as in label=click");
        at += size;
    }
    return 0;
}
