"""Attention and transformers, with all kinds of masks."""

from __future__ import annotations

import warnings
from typing import Any

import cellwire as cw
import numpy as np
import torch
from cellwire import nn

from parity.pair import Case, Draw, Pair


def _names(module: Any) -> dict[str, str]:
    """Parameters of ours and of PyTorch's: only those of norms have other names."""
    names: dict[str, str] = {}
    for theirs, _ in module.named_parameters():
        *path, last = theirs.split(".")
        if path and "norm" in path[-1]:
            last = {"weight": "gamma", "bias": "beta"}[last]
        names[".".join((*path, last))] = theirs
    return names


def _mask(draw: Draw, rows: int, columns: int) -> Any:
    """A mask that leaves every row something: None, bool or numbers."""
    hidden = draw.bools(rows, columns)
    hidden[:, 0] = False
    kind = draw.choice((None, "bool", "float"))
    if kind is None:
        return None
    return hidden if kind == "bool" else np.where(hidden, -np.inf, 0.5)


class _Ours(nn.Cell):
    def __init__(self, cell: Any, names: dict[str, Any], keep: int) -> None:
        super().__init__()
        self.cell, self.names, self.keep = cell, names, keep

    def construct(self, *x: Any) -> Any:
        masks = {name: _as(x[0], mask) for name, mask in self.names.items()}
        out = self.cell(*x, **masks)
        return out[0] if self.keep == 1 else out


def _as(x: Any, mask: Any) -> Any:
    if mask is None or not isinstance(mask, np.ndarray):
        return mask
    return cw.Tensor(mask if mask.dtype == bool else mask.astype(x.dtype.numpy))


class _Theirs(torch.nn.Module):
    def __init__(self, cell: Any, names: dict[str, Any], keep: int) -> None:
        super().__init__()
        self.cell, self.names, self.keep = cell, names, keep

    def forward(self, *x: Any) -> Any:
        masks = {
            name: torch.from_numpy(mask).to(x[0].dtype if mask.dtype != bool else torch.bool)
            if isinstance(mask, np.ndarray)
            else mask
            for name, mask in self.names.items()
        }
        out = self.cell(*x, **masks)
        return out[0] if self.keep == 1 else out


def _case(cell: Any, peer: Any, arrays: Any, masks: dict[str, Any], keep: int = 0) -> Case:
    ours, theirs = _Ours(cell, masks, keep), _Theirs(peer, masks, keep)
    return Case(ours, theirs, arrays, _names(theirs))


def _attention(draw: Draw) -> Case:
    first, bias, more = (draw.choice((False, True)) for _ in range(3))
    kdim, vdim = draw.choice(((None, None), (3, 5)))
    batch, length, keys = draw.size(1, 3), draw.size(1, 3), draw.size(1, 3)
    cell = nn.MultiheadAttention(
        4, 2, has_bias=bias, add_bias_kv=more, add_zero_attn=more, kdim=kdim, vdim=vdim,
        batch_first=first,
    )  # fmt: skip
    peer = torch.nn.MultiheadAttention(
        4, 2, bias=bias, add_bias_kv=more, add_zero_attn=more, kdim=kdim, vdim=vdim,
        batch_first=first,
    )  # fmt: skip

    def array(size: int, width: int) -> np.ndarray:
        return draw.normal(*((batch, size) if first else (size, batch)), width)

    arrays = (array(length, 4), array(keys, kdim or 4), array(keys, vdim or 4))
    mask = _mask(draw, length, keys)
    if mask is not None and draw.choice((False, True)):
        mask = np.stack([mask] * (batch * 2))
    padding = _mask(draw, batch, keys)
    if padding is not None and mask is not None and padding.dtype != mask.dtype:
        padding = padding == -np.inf if mask.dtype == bool else np.where(padding, -np.inf, 0.0)
    needs = draw.choice((False, True))
    masks = {"attn_mask": mask, "key_padding_mask": padding, "need_weights": needs}
    if needs:
        masks["average_attn_weights"] = draw.choice((False, True))
    return _case(cell, peer, arrays, masks, 2 if needs else 1)


def _sizes(draw: Draw) -> dict[str, Any]:
    return {
        "d_model": 4, "nhead": 2,
        "batch_first": draw.choice((False, True)), "norm_first": draw.choice((False, True)),
        "activation": draw.choice(("relu", "gelu")), "dim_feedforward": 3, "dropout": 0.0,
    }  # fmt: skip


def _x(draw: Draw, first: bool, batch: int, length: int) -> np.ndarray:
    return draw.normal(*((batch, length) if first else (length, batch)), 4)


def _encoder(draw: Draw) -> Case:
    sizes = _sizes(draw)
    cell, peer = nn.TransformerEncoderLayer(**sizes), torch.nn.TransformerEncoderLayer(**sizes)
    batch, length = draw.size(1, 3), draw.size(1, 3)
    masks = {"src_mask": _mask(draw, length, length)}
    return _case(cell, peer, (_x(draw, sizes["batch_first"], batch, length),), masks)


def _decoder(draw: Draw) -> Case:
    sizes = _sizes(draw)
    cell, peer = nn.TransformerDecoderLayer(**sizes), torch.nn.TransformerDecoderLayer(**sizes)
    batch, length, keys = draw.size(1, 3), draw.size(1, 3), draw.size(1, 3)
    first = sizes["batch_first"]
    arrays = (_x(draw, first, batch, length), _x(draw, first, batch, keys))
    masks = {
        "tgt_mask": _mask(draw, length, length),
        "memory_mask": _mask(draw, length, keys),
    }
    return _case(cell, peer, arrays, masks)


def _transformer(draw: Draw) -> Case:
    sizes = _sizes(draw)
    counts = {"num_encoder_layers": 1, "num_decoder_layers": 1}
    cell = nn.Transformer(**sizes, **counts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a fast path that is not taken
        peer = torch.nn.Transformer(**sizes, **counts)
    batch, length, keys = draw.size(1, 3), draw.size(1, 3), draw.size(1, 3)
    first = sizes["batch_first"]
    arrays = (_x(draw, first, batch, keys), _x(draw, first, batch, length))
    padding = draw.bools(batch, keys)
    padding[:, 0] = False
    masks = {"src_key_padding_mask": padding, "memory_key_padding_mask": padding}
    return _case(cell, peer, arrays, masks)


PAIRS: list[Pair] = [
    Pair("nn.MultiheadAttention", _attention),
    Pair("nn.TransformerEncoderLayer", _encoder),
    Pair("nn.TransformerDecoderLayer", _decoder),
    Pair("nn.Transformer", _transformer),
]

_STACKED = "compared with PyTorch's as a part of nn.Transformer"
WITHOUT_PEER = {"nn.TransformerEncoder": _STACKED, "nn.TransformerDecoder": _STACKED}
