"""Progress: what the Python functions show on stderr."""

import io

import pytest

import infosedd
from infosedd.progress import OnStderr, Progress, duration
from tests.infosedd.test_refits import QUICK, letters


class Screen(io.StringIO):
    """A terminal that takes what is written to it."""

    def isatty(self) -> bool:
        return True


REPORTS = (
    Progress("train", 0.0, None, "what it costs"),
    Progress("train", 0.25, 90.0, "loss 1.2"),
    Progress("train", 1.0, 0.0),
)


def test_a_terminal_sees_the_time_left_on_a_line_that_is_wiped_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    show = OnStderr()
    for report in REPORTS:
        show(report)
    line = "train: 25%, about 1 min 30 s left. loss 1.2"
    assert screen.getvalue() == f"train: what it costs\n\r\r{line}\r{' ' * len(line)}\r"


def test_a_file_has_the_cost_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr("sys.stderr", written)
    show = OnStderr()
    for report in REPORTS:
        show(report)
    assert written.getvalue() == "train: what it costs\n"


def test_every_function_tells_how_far_training_is() -> None:
    x, y = letters(300)
    told: list[Progress] = []
    config = {**QUICK, "training": {"budget": "steps", "steps": 20, "evaluate_every": 10}}
    asked = {"config": config, "progress": told.append}
    for ask in (
        lambda: infosedd.mutual_information(x, y, **asked),
        lambda: infosedd.entropy(x, **asked),
        lambda: infosedd.total_correlation(x, **asked),
        lambda: infosedd.dual_total_correlation(x, **asked),
        lambda: infosedd.o_information(x, **asked),
        lambda: infosedd.kl_divergence(x, x[::-1], **asked),
        lambda: infosedd.transfer_entropy(x[:, 0], x[:, 1], **asked),
    ):
        told.clear()
        ask()
        assert any(0 < p.done < 1 and p.seconds_left is not None for p in told)
        assert told[-1].done == 1


@pytest.mark.parametrize(
    "seconds, text", [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (3600, "1 h 0 min"), (8000, "2 h 13 min")]
)
def test_durations_read_well(seconds: float, text: str) -> None:
    assert duration(seconds) == text
