/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that are easy to misuse and have a better replacement here. Using one
 * is a compile error that names the replacement.
 */
#ifndef GUST_BASE_BANNED_H
#define GUST_BASE_BANNED_H

/* The headers that declare them come first, or the macros would break them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BANNED(func, instead) banned_##func##_use_##instead

#undef strcpy
#define strcpy(...) BANNED(strcpy, snprintf)
#undef strcat
#define strcat(...) BANNED(strcat, buf_printf)
#undef strncpy
#define strncpy(...) BANNED(strncpy, snprintf)
#undef strncat
#define strncat(...) BANNED(strncat, buf_printf)
#undef sprintf
#define sprintf(...) BANNED(sprintf, snprintf)
#undef vsprintf
#define vsprintf(...) BANNED(vsprintf, vsnprintf)
#undef strtok
#define strtok(...) BANNED(strtok, strcspn)
#undef gets
#define gets(...) BANNED(gets, fgets)
#undef atoi
#define atoi(...) BANNED(atoi, parse_u64)
#undef atol
#define atol(...) BANNED(atol, parse_u64)
#undef atof
#define atof(...) BANNED(atof, parse_f64)
#undef rand
#define rand(...) BANNED(rand, env_random)
#undef srand
#define srand(...) BANNED(srand, env_random)
#undef gmtime
#define gmtime(...) BANNED(gmtime, gmtime_r)
#undef localtime
#define localtime(...) BANNED(localtime, localtime_r)
#undef ctime
#define ctime(...) BANNED(ctime, strftime)

#endif
