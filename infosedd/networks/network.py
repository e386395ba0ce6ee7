"""The score network: the marginal law of each token, plus what its components add."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from infosedd.layout import Layout
from infosedd.networks.component import Component, ComponentConfig, Features, key
from infosedd.networks.normalise import log_probabilities

MOST_SURPRISE = 6.0
"""Nats at which a token's surprise is cut, so that one odd token does not drown the others."""


class ScoreNetwork(nn.Module):
    """log p(x0_i | visible) = log-softmax of [log marginal_i + evidence_i + SUM of components' logits].

    The log marginals are counted, not learned, and stand alone in a row where nothing is visible. The
    evidence is what a token noised by the uniform process says of itself, known in closed form: it
    keeps its symbol with odds 1 + N v / (1 - v).
    """

    def __init__(
        self,
        layout: Layout,
        components: Sequence[Component],
        marginals: Mapping[str, Tensor],
        learned: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        self.layout = layout
        self.components = nn.ModuleList(components)
        for block in layout.blocks:
            self.register_buffer(f"log_marginal_{key(block.name)}", marginals[block.name].log().float())
        self.residual_active = True
        """Do the residual components take part? Training turns them off while the others settle."""
        self.learned = layout.names if learned is None else tuple(learned)
        """Blocks that training predicts; of the others the components say nothing."""
        for component in components:
            component.keep(self.learned)

    @property
    def device(self) -> torch.device:
        return getattr(self, f"log_marginal_{key(self.layout.blocks[0].name)}").device

    def heed(self, residual_kept: bool | None) -> None:
        """Leave out residual components that training did not keep, whose logits are all 0; none: there are none."""
        self.residual_active = residual_kept is not False

    def configs_of_parameters(self) -> list[ComponentConfig]:
        """For each parameter, in order, the configuration of the component it belongs to."""
        return [c.config for c in self._components for _ in c.parameters()]

    def penalty(self, n_rows: float, exposure: Tensor) -> Tensor:
        """Sum of the components' penalties, in nats a row."""
        return torch.stack([c.penalty(n_rows, exposure) for c in self._components]).sum()

    @property
    def has_residual(self) -> bool:
        return any(c.config.residual for c in self._components)

    @property
    def is_kept_simple(self) -> bool:
        """Is that said of every component that takes part?"""
        return all(c.is_kept_simple for c in self._components if self.residual_active or not c.config.residual)

    @property
    def _components(self) -> list[Component]:
        return [c for c in self.components if isinstance(c, Component)]

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
        residuals = [c for c in self._components if c.config.residual and self.residual_active]
        anything = (visibility.amax(1) > 0)[:, None, None]
        idle = not torch.is_grad_enabled() and not anything.any()
        names = dict.fromkeys([*self.learned, *targets]) if residuals and not idle else targets
        total = self._marginals(tokens, visibility, [*names])
        if not idle:
            for component in self._components:
                if not component.config.residual:
                    _add(features.base, component(features, [name for name in total if name in self.learned]))
            _add(total, {name: logits * anything for name, logits in features.base.items()})
        if residuals and not idle:
            features.surprise = self._surprise(total, tokens, visibility)
            total = {name: total[name] for name in targets}
            asked = [name for name in targets if name in self.learned]
            for component in residuals:
                _add(total, {name: logits * anything for name, logits in component(features, asked).items()})
        return {name: log_probabilities(logits) for name, logits in total.items()}

    def _marginals(self, tokens: Tensor, visibility: Tensor, names: Sequence[str]) -> dict[str, Tensor]:
        out = {}
        noisy = bool(((visibility > 0) & (visibility < 1)).any())
        for name in names:
            marginal = getattr(self, f"log_marginal_{key(name)}")
            if noisy:
                out[name] = marginal + self._evidence(tokens, visibility, name, marginal.shape[1])
            else:
                out[name] = marginal.expand(len(tokens), -1, -1)
        return out

    @torch.no_grad()
    def _surprise(self, total: Mapping[str, Tensor], tokens: Tensor, visibility: Tensor) -> Tensor:
        """(B, L) how much likelier the others make each visible token; 0 where nothing is visible."""
        out = torch.zeros(visibility.shape, device=tokens.device)
        for name, logits in total.items():
            there = self.layout.slice_of(name)
            codes = tokens[:, there].clamp(max=logits.shape[-1] - 1)[..., None]
            marginal = getattr(self, f"log_marginal_{key(name)}").expand_as(logits)
            ratio = log_probabilities(logits).gather(-1, codes) - marginal.gather(-1, codes)
            out[:, there] = ratio.squeeze(-1).clamp(-MOST_SURPRISE, MOST_SURPRISE)
        return out * (visibility > 0)

    def _evidence(self, tokens: Tensor, visibility: Tensor, name: str, size: int) -> Tensor:
        there = self.layout.slice_of(name)
        seen = visibility[:, there]
        partly = (seen > 0) & (seen < 1)
        odds = torch.where(partly, torch.log1p(size * seen / (1 - seen).clamp(min=1e-12)), 0.0).float()
        codes = tokens[:, there].clamp(max=size - 1)[..., None]
        return torch.zeros(*codes.shape[:2], size, device=tokens.device).scatter(-1, codes, odds[..., None])


def _add(total: dict[str, Tensor], more: Mapping[str, Tensor]) -> None:
    for name, logits in more.items():
        total[name] = total[name] + logits if name in total else logits


def _rounded(visibility: Tensor) -> Tensor:
    """As float32, where a token that is almost clean must not round to a clean one."""
    partly = (visibility > 0) & (visibility < 1)
    return torch.where(partly, visibility.float().clamp(max=1 - 2**-24), visibility.float())
