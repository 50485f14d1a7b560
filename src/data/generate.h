/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synthetic data sets with a model planted in them, so that what a trainer should reach is
 * known. A pure function of the options: the same seed gives the same bytes.
 *
 * movielens: users rate items in half stars: 3.52 + user bias N(0, 0.40) + item bias N(0, 0.50)
 *   + a product of rank-10 factors with standard deviation 0.48 / sqrt(10) per term
 *   + noise N(0, 0.72), rounded to halves and clipped to 0.5 .. 5. Item popularity falls as
 *   1 / (rank + 30)^1.05, user activity is 20 plus a lognormal, pairs are unique.
 * criteo: 13 numeric values (logarithms of lognormals, a fifth of them 0, scaled to 0 .. 1) and
 *   26 categories of realistic sizes, popularity 1 / (rank + 3)^1.15, hashed into `dims`
 *   dimensions; a logistic model with weights N(0, 1) and N(0, 0.30), 25.6 % positive.
 */
#ifndef GUST_DATA_GENERATE_H
#define GUST_DATA_GENERATE_H

#include "data/builder.h"

struct generate_options {
    uint64_t rows;  /* of both splits; 0: 10,000,000 ratings, 1,000,000 clicks */
    uint64_t users; /* movielens; 0: in proportion to 71,567 for ten million ratings */
    uint64_t items; /* movielens; 0: 10,681 times the square root of that proportion */
    uint64_t dims;  /* criteo; 0: 100,000 */
    uint64_t seed;
    double held_out; /* share of the examples; below 1 */
};

/*
 * Build a data set at TO, whose kind and schema are set here. E_INVALID for options that make no
 * sense, and what the builder says. Fewer ratings than asked are made when there are not enough
 * pairs of users and items.
 */
int generate_movielens(const struct builder_options *to, const struct generate_options *options,
                       struct error *err);
int generate_criteo(const struct builder_options *to, const struct generate_options *options,
                    struct error *err);

#endif
