"""The score network: the marginal law of each token, plus what its components add."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from infosedd.layout import Layout
from infosedd.networks.component import Component, ComponentConfig, Features, key


class ScoreNetwork(nn.Module):
    """log p(x0_i | visible) = log-softmax of [log marginal_i + evidence_i + SUM of components' logits].

    The log marginals are counted, not learned, and stand alone in a row where nothing is visible. The
    evidence is what a token noised by the uniform process says of itself, known in closed form: it
    keeps its symbol with odds 1 + N v / (1 - v).
    """

    def __init__(self, layout: Layout, components: Sequence[Component], marginals: Mapping[str, Tensor]) -> None:
        super().__init__()
        self.layout = layout
        self.components = nn.ModuleList(components)
        for block in layout.blocks:
            self.register_buffer(f"log_marginal_{key(block.name)}", marginals[block.name].log().float())

    @property
    def device(self) -> torch.device:
        return getattr(self, f"log_marginal_{key(self.layout.blocks[0].name)}").device

    def configs_of_parameters(self) -> list[ComponentConfig]:
        """For each parameter, in order, the configuration of the component it belongs to."""
        return [c.config for c in self.components if isinstance(c, Component) for _ in c.parameters()]

    def penalty(self, n_rows: int) -> Tensor:
        """Sum of the components' penalties, in nats a row."""
        return torch.stack([c.penalty(n_rows) for c in self.components if isinstance(c, Component)]).sum()

    @property
    def n_parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.parameters())

    def forward(
        self,
        tokens: Tensor,
        visibility: Tensor,
        targets: Sequence[str],
        generator: torch.Generator | None = None,
    ) -> dict[str, Tensor]:
        """``tokens``, ``visibility`` (B, L) -> {block: (B, L_block, N_block) log probabilities}.

        ``visibility`` is best given in float64: near t = 0 it differs from 1 by less than float32 tells.
        With a ``generator``, dropout is on and drawn from it.
        """
        features = Features(self.layout, tokens, _rounded(visibility), generator)
        total: dict[str, Tensor] = {}
        for name in targets:
            marginal = getattr(self, f"log_marginal_{key(name)}")
            total[name] = marginal + self._evidence(tokens, visibility, name, marginal.shape[1])
        anything = (visibility.amax(1) > 0)[:, None, None]
        idle = not torch.is_grad_enabled() and not anything.any()
        for component in () if idle else self.components:
            for name, logits in component(features, targets).items():
                total[name] = total[name] + logits * anything
        return {name: logits.log_softmax(-1) for name, logits in total.items()}

    def _evidence(self, tokens: Tensor, visibility: Tensor, name: str, size: int) -> Tensor:
        there = self.layout.slice_of(name)
        seen = visibility[:, there]
        partly = (seen > 0) & (seen < 1)
        odds = torch.where(partly, torch.log1p(size * seen / (1 - seen).clamp(min=1e-12)), 0.0).float()
        codes = tokens[:, there].clamp(max=size - 1)[..., None]
        return torch.zeros(*codes.shape[:2], size, device=tokens.device).scatter(-1, codes, odds[..., None])


def _rounded(visibility: Tensor) -> Tensor:
    """As float32, where a token that is almost clean must not round to a clean one."""
    partly = (visibility > 0) & (visibility < 1)
    return torch.where(partly, visibility.float().clamp(max=1 - 2**-24), visibility.float())
