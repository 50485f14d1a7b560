/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka with the headers that it needs first, and without its macro fail(), which is ours. */
#ifndef GUST_TESTS_SUPPORT_TEST_H
#define GUST_TESTS_SUPPORT_TEST_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#undef fail

/* cmocka's own is made with its fail(). */
#undef fail_msg
#define fail_msg(...)                                                                              \
    do {                                                                                           \
        print_error("ERROR: " __VA_ARGS__);                                                        \
        print_error("\n");                                                                         \
        _fail(__FILE__, __LINE__);                                                                 \
    } while (0)

#endif
