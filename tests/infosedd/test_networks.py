"""Score networks: they start at the marginals, see what is visible and no more, and keep symmetries."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from infosedd.blocks import Block, Vocabulary
from infosedd.layout import Layout
from infosedd.networks import (
    FULL_MAP_LIMIT,
    ComponentConfig,
    CompositionConfig,
    ConvConfig,
    LatentConfig,
    MLPConfig,
    NeighboursConfig,
    PairwiseConfig,
    ScoreNetwork,
    TransformerConfig,
    build,
    choose,
)
from infosedd.networks.component import Features
from infosedd.networks.pairwise import Pairwise
from infosedd.optimizer import AdamW
from infosedd.processes import UniformProcess
from tests.infosedd.laws import block, layout_of

LAYOUT = Layout((block("x", 6, 4), block("y.label", 1, 3)))
CONFIGS = [
    PairwiseConfig(),
    PairwiseConfig(rank=2),
    NeighboursConfig(reach=2),
    CompositionConfig(reach=2),
    LatentConfig(latents=2, width=4),
    MLPConfig(width=8, depth=2, dropout=0.5),
    ConvConfig(width=4, depth=2, dropout=0.5),
    TransformerConfig(width=8, depth=1, heads=2, dropout=0.5),
    TransformerConfig(width=8, depth=1, heads=2, positions="rotary"),
]
IDS = [f"{c.model_dump()['kind']}-{i}" for i, c in enumerate(CONFIGS)]
N = 5


def marginals(layout: Layout = LAYOUT) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    laws = {b.name: torch.rand(b.length, b.vocabulary.size, generator=generator) + 0.1 for b in layout.blocks}
    return {name: law / law.sum(-1, keepdim=True) for name, law in laws.items()}


def network(config: ComponentConfig, *, shaken: bool, seed: int = 0, layout: Layout = LAYOUT) -> ScoreNetwork:
    made = build(layout, [config], marginals(layout), seed)
    if shaken:  # weights that training might have reached
        generator = torch.Generator().manual_seed(1)
        with torch.no_grad():
            for parameter in made.parameters():
                parameter += 0.5 * torch.randn(parameter.shape, generator=generator)
    return made


def rows(seed: int = 0, layout: Layout = LAYOUT) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(N, layout.seq_len, generator=generator) * layout.vocab_sizes).long()


@pytest.mark.parametrize("config", CONFIGS, ids=IDS)
def test_before_training_the_posterior_is_the_marginal(config: ComponentConfig) -> None:
    found = network(config, shaken=False)(rows(), torch.ones(N, 7), LAYOUT.names)
    for name, law in marginals().items():
        torch.testing.assert_close(found[name], law.log().expand(N, -1, -1), rtol=0, atol=1e-6)


@pytest.mark.parametrize("config", CONFIGS, ids=IDS)
def test_where_nothing_is_visible_the_marginal_stands_alone(config: ComponentConfig) -> None:
    hidden = LAYOUT.vocab_sizes.repeat(N, 1)
    found = network(config, shaken=True)(hidden, torch.zeros(N, 7), LAYOUT.names)
    for name, law in marginals().items():
        torch.testing.assert_close(found[name], law.log().expand(N, -1, -1), rtol=0, atol=1e-6)


@pytest.mark.parametrize("config", CONFIGS, ids=IDS)
def test_what_is_hidden_is_not_seen_and_what_is_visible_is(config: ComponentConfig) -> None:
    made = network(config, shaken=True)
    visibility = torch.ones(N, 7)
    visibility[:, 2:4] = 0
    tokens, other = rows(0), rows(1)
    mixed = torch.where(visibility > 0, tokens, other)
    found, again = made(tokens, visibility, ["y.label"]), made(mixed, visibility, ["y.label"])
    torch.testing.assert_close(found["y.label"], again["y.label"])
    changed = tokens.clone()
    changed[:, 5] = (changed[:, 5] + 1) % 4
    assert not torch.allclose(found["y.label"], made(changed, visibility, ["y.label"])["y.label"], atol=1e-4)


@pytest.mark.parametrize("config", CONFIGS, ids=IDS)
def test_posteriors_are_laws_and_rows_do_not_mix(config: ComponentConfig) -> None:
    made = network(config, shaken=True)
    visibility = torch.rand(N, 7, generator=torch.Generator().manual_seed(3))
    found = made(rows(), visibility, LAYOUT.names)
    assert {name: tuple(v.shape) for name, v in found.items()} == {"x": (N, 6, 4), "y.label": (N, 1, 3)}
    for name, log_posterior in found.items():
        torch.testing.assert_close(log_posterior.exp().sum(-1), torch.ones(log_posterior.shape[:2]))
        alone = made(rows()[2:3], visibility[2:3], [name])[name]
        torch.testing.assert_close(alone, log_posterior[2:3], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("config", CONFIGS, ids=IDS)
def test_the_seed_fixes_the_start_and_leaves_torch_alone(config: ComponentConfig) -> None:
    state = torch.random.get_rng_state()
    first, again, other = (network(config, shaken=False, seed=seed) for seed in (4, 4, 5))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True))
    random_start = any(p.numel() > 1 and p.std() > 0 for p in first.parameters())
    assert random_start == any(
        not torch.equal(a, b) for a, b in zip(first.parameters(), other.parameters(), strict=True)
    )


@pytest.mark.parametrize("config", CONFIGS, ids=IDS)
def test_dropout_is_drawn_from_the_generator_that_is_given(config: ComponentConfig) -> None:
    made, sight = network(config, shaken=True), torch.ones(N, 7)
    calm, calm_again = made(rows(), sight, ["x"])["x"], made(rows(), sight, ["x"])["x"]
    assert torch.equal(calm, calm_again)
    dropped = [made(rows(), sight, ["x"], torch.Generator().manual_seed(seed))["x"] for seed in (1, 1, 2)]
    assert torch.equal(dropped[0], dropped[1])
    assert torch.equal(dropped[0], dropped[2]) == (getattr(config, "dropout", 0.0) == 0.0)


@pytest.mark.parametrize("config", CONFIGS, ids=IDS)
def test_every_weight_learns(config: ComponentConfig) -> None:
    """No parameter is left without a gradient once the heads are off zero."""
    made = network(config, shaken=True)
    found = made(rows(), torch.full((N, 7), 0.7), LAYOUT.names)
    sum(-log_posterior[..., 0].sum() for log_posterior in found.values()).backward()
    dead = [name for name, p in made.named_parameters() if p.grad is None or not bool(p.grad.abs().sum() > 0)]
    # rotary positions need no learned ones; a stack of one block sends itself nothing across
    assert all("positions" in name or "across" in name for name in dead)


@pytest.mark.parametrize("sigma_bar", [3.0, 0.6, 1e-4, 1e-9])
def test_a_noised_token_says_of_itself_what_the_process_says(sigma_bar: float) -> None:
    """With v = exp(-sigma_bar), p(x0 | x_t) of a lone token is marginal times transition, however little the noise."""
    layout = layout_of(a=(1, 3))
    made, level = build(layout, [], marginals(layout), seed=0), torch.tensor(sigma_bar, dtype=torch.float64)
    seen = torch.tensor([[0], [1], [2]])
    found = made(seen, torch.exp(-level).expand(3, 1), ["a"])["a"][:, 0].double()
    truth = marginals(layout)["a"].log() + UniformProcess().transition(3, level)[:, seen[:, 0]].T.log()
    torch.testing.assert_close(found, truth.log_softmax(-1), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("config", CONFIGS, ids=IDS)
def test_noise_that_float32_can_not_tell_from_none_is_still_noise(config: ComponentConfig) -> None:
    """A token noised at t = 1e-9 may still have been another; a clean one may not. Both in one network."""
    made = network(config, shaken=True)
    sight = torch.full((N, 7), 1 - 1e-9, dtype=torch.float64)
    least, little = (made(rows(), visibility, ["y.label"])["y.label"] for visibility in (sight, sight - 1e-7))
    other = torch.arange(3) != rows()[:, 6, None]
    odds = (little - least)[:, 0][other]
    torch.testing.assert_close(odds, torch.full_like(odds, math.log(101)), rtol=0.05, atol=0.05)


@pytest.mark.parametrize("periodic", [True, False])
def test_convolutions_on_a_lattice_move_with_it(periodic: bool) -> None:
    spins = Block("spins", Vocabulary(("0", "1")), 20, lattice=(4, 5), periodic=periodic)
    layout = Layout((spins,))
    made = build(layout, [ConvConfig(width=4, depth=2)], {"spins": torch.full((20, 2), 0.5)}, seed=0)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter += 0.5 * torch.randn(parameter.shape, generator=generator)
    tokens = (torch.rand(N, 20, generator=generator) < 0.5).long()
    sight = (torch.rand(N, 20, generator=generator) < 0.6).float()

    def roll(values: Tensor) -> Tensor:
        return values.unflatten(1, (4, 5)).roll((1, 2), (1, 2)).flatten(1, 2)

    moved = made(roll(tokens), roll(sight), ["spins"])["spins"]
    assert torch.allclose(moved, roll(made(tokens, sight, ["spins"])["spins"]), atol=1e-5) == periodic


def test_auto_fits_what_it_is_given() -> None:
    lattice = Layout((Block("spins", Vocabulary(("0", "1")), 256, lattice=(16, 16), periodic=True),))
    assert any(isinstance(c, ConvConfig) for c in choose(lattice, ["spins"], 1000))
    promoter = layout_of(sequence=(251, 4), label=(1, 2))
    kinds = [[c.model_dump()["kind"] for c in choose(promoter, ["label"], n)] for n in (2000, 50_000)]
    assert kinds == [["pairwise", "neighbours", "composition"], ["latent", "mlp"]]
    columns = layout_of(**{f"c{i}": (1, 3) for i in range(20)}, y=(1, 2))  # nothing lies beside anything
    assert not any(isinstance(c, NeighboursConfig) for c in choose(columns, ["y"], 2000))
    table = layout_of(x=(2, 2), y=(1, 2))
    assert any(c.residual for c in choose(table, ["y"], 500))
    large = layout_of(text=(256, 5000))
    (factored, *_) = choose(large, ["text"], 1000)
    assert isinstance(factored, PairwiseConfig)
    assert factored.rank is not None
    assert factored.rank * 2 * large.one_hot_width <= FULL_MAP_LIMIT
    for layout in (LAYOUT, layout_of(x=(75, 4), y=(1, 10)), layout_of(a=(1, 2))):
        assert build(layout, choose(layout, layout.names, 100), marginals(layout), 0).n_parameters > 0


def test_a_network_is_kept_simple_where_each_part_that_takes_part_is() -> None:
    simple = [PairwiseConfig(sparsity=3.0), NeighboursConfig(sparsity=1.0), CompositionConfig()]
    made = build(LAYOUT, [*simple, MLPConfig(width=4, residual=True)], marginals(), 0)
    assert not made.is_kept_simple
    made.residual_active = False
    assert made.is_kept_simple
    assert not build(LAYOUT, [*simple, PairwiseConfig()], marginals(), 0).is_kept_simple


def test_transformer_heads_must_divide_the_width() -> None:
    with pytest.raises(ValidationError, match="multiple of twice the number of heads"):
        TransformerConfig(width=12, heads=4)


def test_adamw_is_adam_with_decoupled_decay() -> None:
    """Three steps against the update rule of Loshchilov and Hutter 2019, written out."""
    parameter = torch.nn.Parameter(torch.tensor([1.0, -2.0], dtype=torch.float64))
    optimizer = AdamW([parameter], [0.1], [0.01], betas=(0.9, 0.99), epsilon=1e-8)
    value, mean, square = parameter.detach().clone(), torch.zeros(2).double(), torch.zeros(2).double()
    for step, rate in enumerate((0.5, 1.0, 0.25), start=1):
        (parameter**2).sum().backward()
        gradient = 2 * value
        mean, square = 0.9 * mean + 0.1 * gradient, 0.99 * square + 0.01 * gradient**2
        value = value * (1 - rate * 0.1 * 0.01)
        unbiased = mean / (1 - 0.9**step) / ((square / (1 - 0.99**step)).sqrt() + 1e-8)
        value = value - rate * 0.1 * unbiased
        optimizer.step(rate)
        torch.testing.assert_close(parameter.detach(), value, rtol=1e-9, atol=1e-9)
        assert parameter.grad is None
    assert optimizer.n_steps == 3
    assert math.isfinite(float(parameter.detach().sum()))


def test_penalties_are_where_the_network_is() -> None:
    """A penalty of 0 on the CPU beside one on a GPU can't be added up; the device "meta" stands for a GPU."""
    configs = [c for c in CONFIGS if c.model_dump()["kind"] != "neighbours"]
    configs += [PairwiseConfig(sparsity=3.0), NeighboursConfig(sparsity=3.0)]
    made = build(LAYOUT, configs, marginals(), 0).to("meta")
    exposure = torch.zeros(LAYOUT.seq_len, LAYOUT.seq_len, device="meta")
    for component in made._components:
        assert component.penalty(100, exposure).device.type == "meta"
    assert made.penalty(100, exposure).device.type == "meta"


@pytest.mark.parametrize("config", CONFIGS, ids=IDS)
def test_a_network_computes_on_its_own_device(config: ComponentConfig) -> None:
    """Every tensor that a component makes is where its input is; the device "meta" stands for a GPU."""
    made = build(LAYOUT, [config], marginals(), 0).to("meta")
    tokens, visibility = rows().to("meta"), torch.ones(N, LAYOUT.seq_len, device="meta")
    features = Features(LAYOUT, tokens, visibility, torch.Generator().manual_seed(0))
    (component,) = made._components
    with only_on("meta"):
        for name, logits in component(features, ["y.label"]).items():
            assert (name, logits.device.type) == ("y.label", "meta")


@contextmanager
def only_on(device: str) -> Iterator[None]:
    """Refuses a sum, product or the like of a tensor on another device, as CUDA does."""

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            flat = [a for a in tree_leaves((args, kwargs or {})) if isinstance(a, Tensor) and a.dim() > 0]
            if len({a.device.type for a in flat}) > 1 and "copy" not in str(func):
                raise AssertionError(f"{func} mixes devices {[(a.device.type, tuple(a.shape)) for a in flat]}")
            return func(*args, **(kwargs or {}))

    with Watch():
        yield


def test_squares_of_links_are_those_of_each_pair() -> None:
    layout = Layout((block("a", 2, 3), block("b", 3, 3), block("c", 1, 2), block("d", 2, 4)))
    made = network(PairwiseConfig(sparsity=3.0), shaken=True, layout=layout)
    (pairwise,) = made._components
    assert isinstance(pairwise, Pairwise)
    weights = pairwise.heads.weights["block_b"]
    found = pairwise._squares(weights, 3)
    ends = layout.vocab_sizes.cumsum(0).tolist()
    for j, end in enumerate(ends):
        for i in range(3):
            link = weights[end - int(layout.vocab_sizes[j]) : end, 3 * i : 3 * i + 3]
            torch.testing.assert_close(found[j, i], link.square().sum())


def test_convolutions_read_and_predict_single_tokens() -> None:
    """A lattice beside a label: each says something of the other, and both are learned."""
    made = network(ConvConfig(width=4, depth=2), shaken=True)
    tokens, sight = rows(), torch.ones(N, 7)
    sight[:, :6] = 0
    other = tokens.clone()
    other[:, 6] = (other[:, 6] + 1) % 3
    assert not torch.allclose(made(tokens, sight, ["x"])["x"], made(other, sight, ["x"])["x"], atol=1e-4)
