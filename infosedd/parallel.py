"""Several small computations side by side on one machine."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Event
from typing import TypeVar

import torch

Job = TypeVar("Job")
Result = TypeVar("Result")

LOOK_UP_SECONDS = 0.25
SMALL_NETWORK = 300_000
"""Parameters below which one thread is as fast as several, and far faster on a machine that does other work too."""


def side_by_side(work: Callable[[Job], Result], jobs: Sequence[Job], device: torch.device, stop: Event) -> list[Result]:
    """Results in the order of ``jobs``, one job a core, each on one thread.

    Small networks gain nothing from more threads: handing their small products over costs more than
    it saves, and much more when the machine is busy. One thread a job also makes the results of several jobs
    the same whatever the number of cores; a job alone has all threads, whose number may show in the last
    digits of a large network. The first error, or an interruption of the caller, sets ``stop``, on
    which jobs should end themselves soon, and is raised.
    """
    n_threads = torch.get_num_threads()
    alone = device.type != "cpu" or len(jobs) == 1 or n_threads == 1

    def on_its_threads(job: Job) -> Result:
        torch.set_num_threads(n_threads if alone else 1)
        return work(job)

    with ThreadPoolExecutor(max_workers=1 if alone else min(len(jobs), n_threads)) as pool:
        futures = [pool.submit(on_its_threads, job) for job in jobs]
        try:
            pending = set(futures)
            while pending:  # the system may hand a signal to a worker: only a caller that looks up now and then gets it
                done, pending = wait(pending, timeout=LOOK_UP_SECONDS)
                for future in done:
                    future.result()
            return [future.result() for future in futures]
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise
        finally:
            wait(futures)
            torch.set_num_threads(n_threads)  # a worker's number is also that of all threads of a library below


@contextmanager
def threads_for(n_parameters: int) -> Iterator[None]:
    """Computes with a small network on one thread inside, and gives the caller its threads back."""
    before = torch.get_num_threads()
    torch.set_num_threads(1 if n_parameters < SMALL_NETWORK else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
