/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpirun -np P mpi_allreduce FLOATS REPEATS: times MPI_Allreduce of float sums between processes.
 * Prints "median_s min_s cpu_s": the slowest rank's time per call, and all ranks' CPU time.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static double cpu_seconds(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    int ranks, rank, repeats, count;
    double times[1000], cpu = 0, cpu_all;
    float *in, *out;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 3)
        return 2;
    count = (int)strtol(argv[1], NULL, 10);
    repeats = (int)strtol(argv[2], NULL, 10);
    in = malloc(sizeof(float) * (size_t)count);
    out = malloc(sizeof(float) * (size_t)count);
    if (!in || !out || repeats < 1 || repeats > 1000)
        return 2;
    for (int i = 0; i < count; i++) {
        in[i] = (float)(rank + 1);
        out[i] = 0;
    }
    MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    for (int k = 0; k < repeats; k++) {
        double start, mine, used;

        MPI_Barrier(MPI_COMM_WORLD);
        used = cpu_seconds();
        start = MPI_Wtime();
        MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        mine = MPI_Wtime() - start;
        cpu += cpu_seconds() - used;
        MPI_Reduce(&mine, &times[k], 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    }
    MPI_Reduce(&cpu, &cpu_all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        if (out[i] != (float)(ranks * (ranks + 1) / 2)) {
            fprintf(stderr, "wrong sum\n");
            return 1;
        }
    if (rank == 0) {
        qsort(times, (size_t)repeats, sizeof(*times), compare);
        printf("%.9f %.9f %.9f\n", times[repeats / 2], times[0], cpu_all / repeats);
    }
    MPI_Finalize();
    return 0;
}
