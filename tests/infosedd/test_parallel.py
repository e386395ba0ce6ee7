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


def test_the_caller_has_its_threads_back() -> None:
    """Those of the library below too, whose number is one for the whole process."""

    def numbers() -> list[str]:
        info = torch.__config__.parallel_info()
        return [line.strip() for line in info.splitlines() if "get_max_threads()" in line or "get_num_threads" in line]

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        there = numbers()
        assert side_by_side(lambda n: torch.get_num_threads(), [1, 2, 3], CPU, Event()) == [1, 1, 1]
        assert numbers() == there
    finally:
        torch.set_num_threads(before)
