# SPDX-License-Identifier: Apache-2.0
"""gloo_allreduce.py P FLOATS REPEATS: PyTorch's Gloo all_reduce of float sums between processes.
Prints "median_s min_s cpu_s": the slowest rank's time per call, and all ranks' CPU time."""
import os, resource, statistics, sys, time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def cpu_seconds():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


def rank_main(rank, ranks, count, repeats, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    x = torch.ones(count)
    dist.all_reduce(x)
    times, cpu = [], 0.0
    for _ in range(repeats):
        x.fill_(rank + 1)
        dist.barrier()
        used, start = cpu_seconds(), time.perf_counter()
        dist.all_reduce(x)
        mine = torch.tensor([time.perf_counter() - start])
        cpu += cpu_seconds() - used
        dist.all_reduce(mine, op=dist.ReduceOp.MAX)
        times.append(mine.item())
    assert x[count // 2].item() == ranks * (ranks + 1) / 2
    total = torch.tensor([cpu / repeats])
    dist.all_reduce(total)
    if rank == 0:
        print("%.9f %.9f %.9f" % (statistics.median(times), min(times), total.item()), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    ranks, count, repeats = (int(a) for a in sys.argv[1:4])
    mp.spawn(rank_main, args=(ranks, count, repeats, 29600 + os.getpid() % 4000), nprocs=ranks)
