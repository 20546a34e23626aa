#!/usr/bin/env python3
"""ddp.py - the iteration of `ring_demo bench --overlap` by PyTorch's DistributedDataParallel.

    python3 tests/ddp.py --backward-us 1500 [--compute arithmetic|memory] [--gpus 2]
                         [--bucket-cap-mb 25]

A process for each GPU, NCCL between them, 16 parameters of 25 MiB: the same tensors, and DDP's own
rule for buckets. The backward pass of a parameter is work that fills the chip, repeated so often
that the whole pass takes about the time asked; how long it takes without DDP is printed, too. What
is timed, by CUDA events, is backward and optimizer; the forward pass does nothing. The median of
the iterations, of the slowest rank. Exit status 3, and one line, where it cannot run.
"""
import argparse
import os
import statistics
import sys

LAYERS, ELEMENTS = 16, 25 * 2**20 // 4
WARM, RUNS = 5, 20


def leave(why):
    print(f"ddp.py: {why}", file=sys.stderr)
    sys.exit(3)


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--backward-us", type=float, required=True)
    parser.add_argument("--compute", choices=("arithmetic", "memory"), default="arithmetic")
    parser.add_argument("--gpus", type=int, default=0, help="default: all visible")
    parser.add_argument("--bucket-cap-mb", type=float, default=25)
    options = parser.parse_args()
    if not options.backward_us > 0 or not options.bucket_cap_mb > 0 or options.gpus < 0:
        parser.error("times, caps and numbers of GPUs are above 0")
    return options


def make_work(torch, kind, device):
    """A function that does so many units of work, each of some microseconds, beyond what a cache holds."""
    if kind == "arithmetic":
        a = torch.randn(1536, 1536, device=device, dtype=torch.float16)
        out = torch.empty_like(a)
        return lambda n: [torch.mm(a, a, out=out) for _ in range(n)]
    big = torch.ones(12 * 2**20, device=device)
    sink = torch.empty_like(big)
    return lambda n: [torch.mul(big, 1.5, out=sink) for _ in range(n)]


def make_model(torch, work, units):
    class Layer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.shape, ctx.device = weight.shape, weight.device
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            work(units)
            return grad, torch.ones(ctx.shape, device=ctx.device)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weights = torch.nn.ParameterList(
                [torch.nn.Parameter(torch.zeros(ELEMENTS)) for _ in range(LAYERS)])

        def forward(self, x):
            for weight in self.weights:
                x = Layer.apply(x, weight)
            return x

    return Model()


def measure(torch, model, device):
    """The median time, in us, of a backward pass and an optimizer's step; and of the pass alone."""
    optimizer = torch.optim.SGD(model.parameters(), lr=2**-10)
    whole, passes = [], []
    for i in range(WARM + RUNS):
        optimizer.zero_grad(set_to_none=True)
        loss = model(torch.ones(1, device=device, requires_grad=True)).sum()
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(3)]
        torch.cuda.synchronize()
        marks[0].record()
        loss.backward()
        marks[1].record()
        optimizer.step()
        marks[2].record()
        torch.cuda.synchronize()
        if i >= WARM:
            passes.append(marks[0].elapsed_time(marks[1]) * 1e3)
            whole.append(marks[0].elapsed_time(marks[2]) * 1e3)
    return statistics.median(whole), statistics.median(passes)


def find_units(torch, work, layer_us):
    """So many units take as long as a layer should, less the writing of its gradient."""
    times = []
    for n in (0, 200):
        samples = []
        for _ in range(7):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda.synchronize()
            begin.record()
            for _ in range(LAYERS):
                work(n // LAYERS)
                torch.ones(ELEMENTS, device="cuda")
            end.record()
            torch.cuda.synchronize()
            samples.append(begin.elapsed_time(end) * 1e3)
        times.append(statistics.median(samples) / LAYERS)
    unit = (times[1] - times[0]) / (200 // LAYERS)
    return max(0, round((layer_us - times[0]) / unit))


def run(rank, n, options):
    import torch
    import torch.distributed as dist
    torch.cuda.set_device(rank)
    device = torch.device("cuda", rank)
    dist.init_process_group("nccl", rank=rank, world_size=n)
    work = make_work(torch, options.compute, device)
    units = torch.tensor(find_units(torch, work, options.backward_us / LAYERS), device=device)
    dist.broadcast(units, 0)
    model = make_model(torch, work, int(units)).to(device)
    alone = measure(torch, model, device)
    ddp = torch.nn.parallel.DistributedDataParallel(
        model, device_ids=[rank], bucket_cap_mb=options.bucket_cap_mb,
        gradient_as_bucket_view=True)
    both = measure(torch, ddp, device)
    mean = torch.stack([weight.grad for weight in model.parameters()])
    right = bool((mean == 1).all())
    slowest = torch.tensor([alone[1], alone[0], both[0], 0.0 if right else 1.0], device=device,
                           dtype=torch.float64)
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    if rank == 0:
        a, b, c, wrong = slowest.tolist()
        print(f"DDP, torch {torch.__version__}, NCCL {'.'.join(map(str, torch.cuda.nccl.version()))}"
              f", {n} GPUs, bucket_cap_mb {options.bucket_cap_mb:g}, bound by {options.compute}: "
              f"backward asked {options.backward_us:.1f} us, alone {a:.1f} us, with the optimizer "
              f"{b:.1f} us; iteration {c:.1f} us{'; GRADIENTS ARE WRONG' if wrong else ''}")
    dist.destroy_process_group()
    if slowest[3] > 0:
        sys.exit(1)


def main():
    options = read_options()
    try:
        import torch
        import torch.multiprocessing as processes
    except ImportError as error:
        leave(f"there is no PyTorch here ({error})")
    found = torch.cuda.device_count()
    n = options.gpus or found
    if n < 2 or n > found:
        leave(f"{n} GPUs are wanted, from 2 on, and {found} are visible")
    if not torch.distributed.is_available() or not torch.distributed.is_nccl_available():
        leave("this PyTorch was built without NCCL")
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29511")
    processes.spawn(run, args=(n, options), nprocs=n)


if __name__ == "__main__":
    main()
