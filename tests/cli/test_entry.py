"""The entry point: our packages or a clash that is said; light commands import nothing heavy."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def python(*arguments: str, path: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [path, str(ROOT)]))}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment, cwd="/")


@pytest.mark.parametrize("name", ["flows", "connectors", "warehouse"])
def test_a_clash_names_the_other_package(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("")
    result = python("-m", "infosedd", "--help", path=str(tmp_path))
    assert result.returncode == 3
    assert result.stdout == ""
    assert result.stderr.startswith(f"error: the name '{name}' belongs to another package")
    assert str(tmp_path / name) in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_no_command_is_a_call_for_help() -> None:
    bare, asked = python("-m", "infosedd"), python("-m", "infosedd", "--help")
    assert (bare.returncode, bare.stdout, bare.stderr) == (0, asked.stdout, "")
    assert "Usage: infosedd" in bare.stdout


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; from flows.cli import invoke; invoke(['--help']); print(*sorted(sys.modules))"
    loaded = set(python("-c", code).stdout.splitlines()[-1].split())
    heavy = {
        "torch",
        "prefect",
        "datasets",
        "sklearn",
        "matplotlib",
        "duckdb",
        "polars",
        "pyarrow",
        "numpy",
        "pydantic",
    }
    assert loaded & heavy == set()


def test_sql_imports_neither_torch_nor_prefect(tmp_path: Path) -> None:
    code = (
        "import sys; from flows.cli import invoke; from warehouse import Warehouse; "
        f"Warehouse({str(tmp_path)!r}).publish(); "
        f"assert invoke(['sql', 'select 1', '--home', {str(tmp_path)!r}]) == 0; print(*sorted(sys.modules))"
    )
    result = python("-c", code)
    loaded = set(result.stdout.splitlines()[-1].split())
    assert "duckdb" in loaded, result.stderr
    assert loaded & {"torch", "prefect", "datasets", "sklearn", "matplotlib"} == set()


def test_a_reader_that_leaves_early_is_no_error() -> None:
    code = "from flows.cli import main; main(['connectors', '--json'])"
    command = f'{sys.executable} -c "{code}" | true; echo ${{PIPESTATUS[0]}}'
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT)
    assert result.stdout == "0\n"
    assert result.stderr == ""


def test_work_that_ends_because_nobody_reads_its_progress_is_not_done(tmp_path: Path) -> None:
    code = (
        "import sys, time; import flows.launch; from flows.cli import main\n"
        "def launch(*_): [(print(n, file=sys.stderr), time.sleep(0.01)) for n in range(2000)]\n"
        f"flows.launch.launch = launch; main(['run', 'lac-promoter', '--home', {str(tmp_path / 'home')!r}])"
    )
    command = f'{sys.executable} -c "$0" 2>&1 | head -1; echo ${{PIPESTATUS[0]}}'
    result = subprocess.run(["bash", "-c", command, code], capture_output=True, text=True, cwd=ROOT)
    assert result.stdout == "0\n3\n"
    assert result.stderr == ""


def test_results_that_nobody_reads_leave_the_exit_code_as_it_is() -> None:
    code = (
        "import flows.cli\n"
        "def invoke(_): print('x' * 100_000, flush=True); return 2\n"
        "flows.cli.invoke = invoke; flows.cli.main([])"
    )
    command = f'{sys.executable} -c "$0" | true; echo ${{PIPESTATUS[0]}}'
    result = subprocess.run(["bash", "-c", command, code], capture_output=True, text=True, cwd=ROOT)
    assert (result.stdout, result.stderr) == ("2\n", "")
