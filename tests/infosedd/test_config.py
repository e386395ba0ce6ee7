"""Model configurations: defaults, what is refused and how it is said."""

import traceback

import pytest

from infosedd.config import ModelConfig
from infosedd.errors import InputError
from infosedd.networks import ConvConfig, MLPConfig


def test_a_configuration_is_json_and_back() -> None:
    config = ModelConfig.parse(
        {
            "process": "uniform",
            "network": [{"kind": "mlp", "width": 32}, {"kind": "conv"}],
            "queries": [{"noised": "y", "clean": "x", "show": "window", "window": 3}],
            "training": {"budget": "steps", "steps": 10},
        }
    )
    assert config.network == (MLPConfig(width=32), ConvConfig())
    assert ModelConfig.parse(config.model_dump(mode="json")) == config
    assert ModelConfig.parse({}) == ModelConfig()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"proces": "uniform"}, "there is no option 'proces'.*did you mean 'process'"),
        ({"training": {"step": 3}}, "there is no option 'step' in 'training'.*did you mean 'steps'"),
        ({"network": [{"kind": "mlp", "widht": 3}]}, "no option 'widht' in 'network.0.mlp'.*did you mean 'width'"),
        ({"process": "gaussian"}, "option 'process':"),
        ({"schedule": "linear"}, "option 'schedule':"),
        ({"folds": 1}, "option 'folds':"),
        ({"members": 0}, "option 'members':"),
        ({"draws": 0}, "option 'draws':"),
        ({"training": {"steps": 0}}, "option 'training.steps':"),
        ({"training": {"budget": "hours"}}, "option 'training.budget':"),
        ({"network": [{"kind": "resnet"}]}, "option 'network"),
        ({"network": "mlp"}, "option 'network': .*'auto' or .*tuple"),
        ({"network": [{"kind": "transformer", "width": 6, "heads": 4}]}, "multiple of twice the number of heads"),
        ({"queries": [{"clean": "x"}]}, "the option 'queries.0.noised' is required"),
    ],
)
def test_options_that_are_wrong(options: dict, said: str) -> None:
    with pytest.raises(InputError, match=said) as raised:
        ModelConfig.parse(options)
    assert "in the model configuration" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert "pydantic" not in "".join(traceback.format_exception(raised.value))
