/* SPDX-License-Identifier: Apache-2.0 */
/* What the halves of a transform share: the layout of a file, and its use line by line. */
#ifndef GUST_DATA_TRANSFORM_INTERNAL_H
#define GUST_DATA_TRANSFORM_INTERNAL_H

#include "data/transform.h"

/* What becomes of one field of a line. */
struct transform_field {
    enum transform_role role;
    uint32_t place; /* the example's word */
    uint64_t salt;  /* of a category */
    const struct transform_column *column;
};

/* What the columns of ratings are called, in any case of letters; each list ends with NULL. */
extern const char *const transform_user_words[], *const transform_item_words[],
                                                     *const transform_rating_words[];
bool transform_is_word(struct slice cell, const char *const *words);

/* What separates most cells of a header: a comma, tab, semicolon or bar. Static storage. */
const char *transform_separator(struct slice header);

#endif
