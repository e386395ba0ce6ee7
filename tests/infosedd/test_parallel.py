"""Work side by side: results in order, the first error raised, and the others asked to stop."""

import time
from threading import Event

import pytest
import torch

from infosedd.parallel import side_by_side

CPU = torch.device("cpu")


def test_results_come_in_the_order_of_the_jobs() -> None:
    threads = torch.get_num_threads()
    assert side_by_side(lambda n: n * n, [3, 1, 2], CPU, Event()) == [9, 1, 4]
    assert side_by_side(lambda n: n * n, [3], CPU, Event()) == [9]
    assert torch.get_num_threads() == threads


def test_an_error_stops_the_others_and_is_raised() -> None:
    stop = Event()

    def work(job: int) -> int:
        if job == 0:
            raise ValueError("job 0")
        while not stop.is_set():
            time.sleep(0.001)
        return job

    with pytest.raises(ValueError, match="job 0"):
        side_by_side(work, [0, 1, 2], CPU, stop)
    assert stop.is_set()
