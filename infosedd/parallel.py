"""Several small computations side by side on one machine."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Job = TypeVar("Job")
Result = TypeVar("Result")


def side_by_side(work: Callable[[Job], Result], jobs: Sequence[Job], device: torch.device) -> list[Result]:
    """Results in the order of ``jobs``, one job a core, each on one thread.

    Small networks gain nothing from more threads: handing their small products over costs more than
    it saves, and much more when the machine is busy. One thread a job also makes results the same
    whatever the number of cores. The first error ends the work and is raised.
    """
    n_threads = torch.get_num_threads()
    if device.type != "cpu" or len(jobs) == 1 or n_threads == 1:
        return [work(job) for job in jobs]

    def on_one_thread(job: Job) -> Result:
        torch.set_num_threads(1)
        return work(job)

    with ThreadPoolExecutor(max_workers=min(len(jobs), n_threads)) as pool:
        futures = [pool.submit(on_one_thread, job) for job in jobs]
        try:
            return [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            raise
