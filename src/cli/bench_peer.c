/* SPDX-License-Identifier: Apache-2.0 */
/* Running other programs beside Gust: bench/peers/run NAME ARGUMENTS, which prints numbers. */
#include "cli/bench.h"

#include <stdarg.h>
#include <sys/wait.h>

#define NOT_INSTALLED 77

int bench_peer(const char *folder, struct bench_lines *out, const char *format, ...)
{
    char arguments[512], command[1024], line[256];
    va_list args;
    FILE *pipe;
    int status;

    va_start(args, format);
    vsnprintf(arguments, sizeof(arguments), format, args);
    va_end(args);
    snprintf(command, sizeof(command), "'%s/run' %s", folder, arguments);
    out->count = 0;
    fflush(stdout);
    pipe = popen(command, "r");
    if (!pipe)
        return E_IO;
    while (fgets(line, sizeof(line), pipe))
        if (out->count < BENCH_LINES_MAX &&
            sscanf(line, "%lf %lf %lf", &out->at[out->count][0], &out->at[out->count][1],
                   &out->at[out->count][2]) >= 2)
            out->count++;
    status = pclose(pipe);
    if (WIFEXITED(status) && (WEXITSTATUS(status) == NOT_INSTALLED || WEXITSTATUS(status) == 127))
        return E_NOT_FOUND;
    return status == 0 && out->count > 0 ? 0 : E_FAILED;
}
