"""Faults of flows: kill, fill, cut off and cancel, then run again; one line for each, with what was seen.

    python -m benchmarks.faults                    all (20 minutes on two cores)
    python -m benchmarks.faults kills --kills 5    some

Each study runs as a user runs it, in a process of its own, with a Prefect server of its own unless
PREFECT_API_URL names one, which is faster on a busy machine.
"""

import argparse
import errno
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.small import write_study, write_table
from warehouse import queries

LONG = {"steps": 4000}
PATIENCE = 1800.0


class Unexpected(Exception):
    """A fault was not met as it should be."""


def start(folder: Path, *arguments: str, own_server: bool = False, **environment: str) -> subprocess.Popen[str]:
    """One command of infosedd, in a session of its own; ``own_server`` whatever PREFECT_API_URL names."""
    inherited = {name: v for name, v in os.environ.items() if not (own_server and name == "PREFECT_API_URL")}
    return subprocess.Popen(
        [sys.executable, "-m", "infosedd", *arguments],
        cwd=folder,
        env={**inherited, "PYTHONPATH": os.pathsep.join([str(Path.cwd()), *sys.path]), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


def run(folder: Path, *arguments: str, **environment: str) -> tuple[int, str, str]:
    return finish(start(folder, *arguments, **environment))


def expect(condition: bool, what: str) -> None:
    if not condition:
        raise Unexpected(what)


def error_line(err: str) -> str:
    """The one error line among the lines of progress."""
    lines = [line for line in err.splitlines() if not line.startswith("[")]
    expect(len(lines) == 1 and lines[0].startswith("error: "), f"not one error line: {err[-300:]}")
    return lines[0]


def wait_for(process: subprocess.Popen[str], word: str) -> None:
    """Read the progress until a line has the word."""
    assert process.stderr is not None
    for line in process.stderr:
        if word in line:
            return
    raise Unexpected(f"{word!r} never came")


def estimates(home: Path) -> dict[tuple, float]:
    rows = queries.run(home, "select measure, mode, x, y, estimator, seed, value_nats from estimates")
    return {row[:-1]: row[-1] for row in rows.iter_rows()}


def count(home: Path, table: str) -> int:
    return queries.run(home, f"select count(*) from {table}").item()


def long_study(folder: Path) -> Path:
    """A study whose training takes some seconds and saves its state often."""
    path = write_study(folder, name="long")
    study = json.loads(path.read_text())
    study["model"]["training"] |= {"steps": LONG["steps"], "checkpoint_seconds": 0.5}
    path.write_text(json.dumps(study))
    return path


def kills(folder: Path, times: int) -> str:
    """kill -9 at random moments, then runs to the end: as if nothing had happened.

    A run that ends before its kill is none; the next seed then gives something to do. What was killed goes
    on each time, so that the kills come to lie in every step.
    """
    study, rng = str(long_study(folder)), random.Random(0)
    seconds = timed_run(folder, study, 0, "undisturbed")
    seed, hit = 0, Counter[str]()
    while hit.total() < times:
        process = start(folder, "run", study, "--seed", str(seed), "--home", "disturbed")
        time.sleep(rng.uniform(0.5, seconds))
        process.kill()
        code, _, err = finish(process)
        if code == -signal.SIGKILL:
            hit[at_step(err)] += 1
        else:
            expect(code == 0, err)
            seed += 1
    for each in range(seed + 1):
        timed_run(folder, study, each, "disturbed")
        if each:
            timed_run(folder, study, each, "undisturbed")
    disturbed = folder / "disturbed"
    expect(estimates(disturbed) == estimates(folder / "undisturbed"), "the estimates differ")
    expect(count(disturbed, "corpora") == 1, "not one corpus")
    expect(count(disturbed, "score_models") == seed + 1, "not one model a seed")
    expect(count(disturbed, "runs where status = 'running'") == 0, "a run is still said to be running")
    left = [path.name for path in (disturbed / "models").iterdir() if path.name.endswith(".training")]
    expect(not left, f"left behind: {left}")
    where = ", ".join(f"{n} at {step!r}" for step, n in hit.most_common())
    crashed = count(disturbed, "runs where status = 'crashed'")
    return (
        f"{hit.total()} kills ({where}), {crashed} of them of a recorded run, marked as crashed; 1 corpus, "
        f"1 model for each of {seed + 1} seeds, {count(disturbed, 'estimates')} estimates as undisturbed"
    )


def timed_run(folder: Path, study: str, seed: int, home: str) -> float:
    """Seconds of a run to the end."""
    began = time.monotonic()
    code, _, err = run(folder, "run", study, "--seed", str(seed), "--home", home)
    expect(code == 0, err)
    return time.monotonic() - began


def at_step(err: str) -> str:
    """The step that the last line of progress names, without paths and numbers."""
    lines = [line.split("] ", 1)[1] for line in err.splitlines() if "] " in line]
    words = lines[-1].split(":")[0].split() if lines else ["start"]
    return words[0] if words[0] in ("reading", "estimating", "going") else " ".join(words)


def terminated(folder: Path) -> str:
    """SIGTERM in training: it stops soon, saves its state, and the next run goes on from there."""
    process = in_training(folder)
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    code, _, _ = finish(process)
    seconds = time.monotonic() - began
    expect(code == 130, f"exit code {code}")
    expect(seconds < 10, f"took {seconds:.1f} s")
    return f"stopped in {seconds:.1f} s, exit code 130; {goes_on(folder)}"


def killed(folder: Path) -> str:
    """kill -9 in training: the next run goes on from the last saved state."""
    process = in_training(folder)
    process.kill()
    expect(finish(process)[0] == -signal.SIGKILL, "it ended otherwise")
    return goes_on(folder)


def in_training(folder: Path) -> subprocess.Popen[str]:
    """A study that trains and has saved its state at least once."""
    process = start(folder, "run", str(long_study(folder)), "--home", "stopped")
    wait_for(process, "] train")
    deadline = time.monotonic() + PATIENCE
    while not [*(folder / "stopped" / "models").glob(".*.training/fold-*.safetensors")]:
        expect(time.monotonic() < deadline, "no state was saved")
        time.sleep(0.2)
    return process


def goes_on(folder: Path) -> str:
    """Run it again: from where, and to the same numbers as one that was left alone?"""
    study = str(folder / "long.json")
    code, _, err = run(folder, "run", study, "--home", "stopped")
    expect(code == 0, err)
    said = [line.split("] ", 1)[1] for line in err.splitlines() if "going on from what was saved" in line]
    expect(len(said) == 1, "it did not say that it goes on")
    expect(run(folder, "run", study, "--home", "whole")[0] == 0, "the undisturbed run failed")
    expect(estimates(folder / "stopped") == estimates(folder / "whole"), "the estimates differ")
    return f"then {said[0]} of {LONG['steps']}; same numbers as undisturbed"


def unreachable(folder: Path) -> str:
    """A Prefect server that is not there."""
    study = str(write_study(folder))
    code, out, err = run(folder, "run", study, "--home", "cut", PREFECT_API_URL="http://127.0.0.1:9/api")
    expect(code == 3 and out == "", f"exit code {code}")
    return error_line(err)[:110]


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """A file system of its own where that is permitted."""
    place = folder / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", place], capture_output=True)
    if mounted.returncode:
        raise Unexpected("skipped: a small file system can't be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


def full_disk(folder: Path) -> str:
    """No space while training: one line, nothing half written; with space again it goes on."""
    study = str(long_study(folder))
    with small_disk(folder, 64) as disk:
        home, filler = disk / "home", disk / "filler"
        code, _, err = run(folder, "run", study, "--home", str(home))
        expect(code == 0, err)
        before = estimates(home)
        process = start(folder, "train", study, "--seed", "1", "--home", str(home))
        wait_for(process, "] train")
        fill(filler)
        code, out, err = finish(process)
        expect(code == 3 and out == "", f"exit code {code}: {err[-300:]}")
        line = error_line(err)
        filler.unlink()
        expect(estimates(home) == before, "the estimates changed")
        code, _, err = run(folder, "run", study, "--seed", "1", "--home", str(home))
        expect(code == 0, err)
        expect(count(home, "score_models") == 2, "not two models")
    return f"exit code 3, {line.split(':')[1].strip()!r}; with space again it went on"


def fill(file: Path) -> None:
    """Take all the space that is left."""
    with file.open("wb", buffering=0) as out:
        try:
            while True:
                out.write(b"x" * 4096)
        except OSError as error:
            expect(error.errno == errno.ENOSPC, str(error))


def bad_file(folder: Path) -> str:
    """One bad file among 50."""
    files = folder / "fifty"
    files.mkdir()
    for i in range(50):
        write_table(files / f"{i:02}.csv", 60, i)
    (files / "27.csv").write_text("x,label\nACGTAC,A\nACGTA,A\n")
    study = str(write_study(folder, steps=5, name="fifty", windows=False))
    code, out, err = run(folder, "watch", study, str(files), "--home", "watched", "--json")
    expect(code == 2, f"exit code {code}: {err[-300:]}")
    seen = json.loads(out)
    expect(seen["n_failed"] == 1 and len(seen["results"]) == 50, f"{seen['n_failed']} failed")
    expect(count(folder / "watched", "score_models") == 49, "not 49 models")
    return f"49 done, 1 refused: {error_line(err)[:80]}"


def twins(folder: Path) -> str:
    """Two identical studies at once: one trains, the other waits."""
    study = str(long_study(folder))
    both = [start(folder, "run", study, "--home", "twins", "--json") for _ in range(2)]
    ends = [finish(process) for process in both]
    expect([code for code, _, _ in ends] == [0, 0], str([err[-300:] for _, _, err in ends]))
    models = [json.loads(out)["model"] for _, out, _ in ends]
    expect(models[0]["model_id"] == models[1]["model_id"], "two models")
    expect(sorted(m["reused"] for m in models) == [False, True], "both trained")
    home = folder / "twins"
    expect(count(home, "score_models") == 1 and count(home, "runs") == 2, "rows are doubled")
    return f"one trained, one reused; {count(home, 'estimates')} estimates"


def cancelled(folder: Path) -> str:
    """A run of a schedule, cancelled as the UI does it; then kill -9 of the schedule, and it starts again."""
    study = json.loads(long_study(folder).read_text())
    study["model"]["training"]["steps"] = 500_000
    path = folder / "endless.json"
    path.write_text(json.dumps(study))
    port = 4300 + random.randrange(600)
    options = ["serve", str(path), "--cron", "0 0 1 1 *", "--now", "--port", str(port), "--home", "served"]
    process = start(folder, *options, own_server=True)
    try:
        first = running(port)
        post(port, f"flow_runs/{first}/set_state", {"state": {"type": "CANCELLING", "name": "Cancelling"}})
        expect(ends_as(port, first) == "CANCELLED", "it did not end as cancelled")
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        finish(process)
    process = start(folder, *options, own_server=True)
    try:
        second = running(port)
        os.killpg(process.pid, signal.SIGKILL)
        finish(process)
        time.sleep(8)  # the server sees that its parent is gone
        process = start(folder, *options, own_server=True)
        expect(ends_as(port, second) == "CRASHED", "the left run was not closed")
        third = running(port)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        finish(process)
    expect(third not in (first, second), "no new run came")
    return "cancelled in the UI: CANCELLED; killed with its schedule: CRASHED when that came back, and a new run began"


def post(port: int, path: str, content: dict) -> list | dict:
    import httpx

    answer = httpx.post(f"http://127.0.0.1:{port}/api/{path}", json=content, timeout=10, trust_env=False)
    answer.raise_for_status()
    return answer.json()


def running(port: int) -> str:
    """Id of the run that trains now."""
    import httpx

    wanted = {"flow_runs": {"state": {"type": {"any_": ["RUNNING"]}}}}
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        time.sleep(2)
        try:
            found = post(port, "flow_runs/filter", wanted)
        except httpx.TransportError:
            continue
        if found:
            time.sleep(6)
            return found[0]["id"]
    raise Unexpected("no run began")


def ends_as(port: int, flow_run_id: str) -> str:
    """State of a run once it is final."""
    import httpx

    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        time.sleep(2)
        try:
            found = post(port, "flow_runs/filter", {"flow_runs": {"id": {"any_": [flow_run_id]}}})
        except httpx.TransportError:
            continue
        if found and found[0]["state_type"] in ("CANCELLED", "CRASHED", "COMPLETED", "FAILED"):
            return found[0]["state_type"]
    raise Unexpected("the run never ended")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    faults: dict[str, Callable[..., str]] = {
        "unreachable": unreachable, "full_disk": full_disk, "bad_file": bad_file, "twins": twins,
        "terminated": terminated, "killed": killed, "cancelled": cancelled, "kills": kills,
    }  # fmt: skip
    parser.add_argument("faults", nargs="*", help=f"some of {', '.join(faults)}; by default all")
    parser.add_argument("--kills", type=int, default=20)
    options = parser.parse_args()
    failed = 0
    for name in options.faults or faults:
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="infosedd-faults-") as folder:
            extra = (options.kills,) if name == "kills" else ()
            try:
                verdict, seen = "ok", faults[name](Path(folder), *extra)
            except Unexpected as error:
                verdict, seen = "FAILED", str(error)
                failed += 1
        print(f"{name:12} {verdict:7} {time.monotonic() - began:5.0f} s  {seen}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
