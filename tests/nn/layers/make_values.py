#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Makes tests/nn/layers/values.hpp with PyTorch, in double: layers' results and gradients.

tests/nn/layers/make_values.py > tests/nn/layers/values.hpp    (tests/nn/live_torch.py calls it with --live SHIFT)

Element i of parameter k is sin(0.37 i + k) / 2, of input j sin(1.3 i + 0.2 + j), so nothing but results is stored: the
result y, and of the loss sum(y[i] cos(0.9 i)) for each input and parameter the sum of gradient[i] cos(0.7 i).
"""
import sys

import torch
from torch import nn

LIVE = sys.argv[1:2] == ["--live"]  # waves that begin elsewhere, and lines of a name and numbers
SHIFT = float(sys.argv[2]) if LIVE else 0.0
torch.set_default_dtype(torch.float64)


def wave(shape, step, begin, f=torch.sin):
    n = 1
    for s in shape:
        n *= s
    return f(step * torch.arange(float(n)) + begin).reshape(shape)


def case(name, module, *shapes, call=None, train=True):
    module.train(train)
    parameters = list(module.named_parameters())
    with torch.no_grad():
        for k, (_, p) in enumerate(parameters):
            p.copy_(wave(p.shape, 0.37, k + SHIFT) / 2)
    inputs = [wave(s, 1.3, 0.2 + j + SHIFT).requires_grad_() if not torch.is_tensor(s) else s for j, s in enumerate(shapes)]
    y = (call or (lambda m, *x: m(*x)))(module, *inputs)
    loss = (y * wave(y.shape, 0.9, 0, torch.cos)).sum()
    loss.backward()
    dot = lambda g: (g * wave(g.shape, 0.7, 0, torch.cos)).sum().item()
    gradients = [(f"input{j}", dot(x.grad)) for j, x in enumerate(inputs) if x.grad is not None]
    gradients += [(n, dot(p.grad)) for n, p in parameters]
    if LIVE:
        print(name, *map(repr, y.flatten().tolist()))
        print(f"{name}.gradients", *(repr(g) for _, g in gradients))
        return
    numbers = ", ".join(repr(v) for v in y.flatten().tolist())
    pairs = ", ".join('{"%s", %r}' % g for g in gradients)
    print(f'    {{"{name}", {{{{{", ".join(map(str, y.shape))}}}, {{{numbers}}}, {{{pairs}}}}}}},')


HEADER = f"""// SPDX-License-Identifier: BSL-1.0
// Results and gradients of layers as PyTorch {torch.__version__.split('+')[0]} has them; tests/nn/layers/make_values.py made it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace test {{

/// A layer's result, and for each input and parameter what its gradient comes to.
struct layer_values {{
  std::vector<int> sizes;
  std::vector<double> result;
  std::vector<std::pair<std::string, double>> gradients;
}};
inline const std::map<std::string, layer_values> known_layers{{"""
if not LIVE:
    print(HEADER)
case("linear", nn.Linear(4, 3), (2, 4))
case("linear_stack", nn.Linear(4, 3), (2, 3, 4))
case("linear_no_bias", nn.Linear(4, 3, bias=False), (2, 4))
case("bilinear", nn.Bilinear(3, 4, 2), (5, 3), (5, 4))
case("prelu", nn.PReLU(3), (2, 3, 2))
case("glu", nn.GLU(1), (2, 4, 2))
case("conv1d", nn.Conv1d(2, 4, 3, stride=2, padding=1, groups=2), (2, 2, 7))
case("conv2d", nn.Conv2d(2, 3, (3, 2), stride=(1, 2), padding=1, dilation=(2, 1)), (2, 2, 6, 5))
case("conv2d_no_bias", nn.Conv2d(2, 4, 3, groups=2, bias=False), (1, 2, 4, 4))
case("conv_transpose2d", nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2), (2, 4, 3, 2))
case("max_pool1d", nn.MaxPool1d(3, 2), (2, 2, 8))
case("max_pool2d", nn.MaxPool2d(2), (1, 2, 4, 6))
case("avg_pool1d", nn.AvgPool1d(3, 2, 1), (2, 2, 8))
case("avg_pool2d", nn.AvgPool2d(3, 2, padding=1, count_include_pad=False), (1, 2, 5, 6))
case("adaptive_avg_pool1d", nn.AdaptiveAvgPool1d(3), (2, 2, 7))
case("adaptive_avg_pool2d", nn.AdaptiveAvgPool2d((2, 3)), (1, 2, 5, 6))
case("adaptive_avg_pool2d_even", nn.AdaptiveAvgPool2d(2), (1, 2, 4, 6))
case("batch_norm1d", nn.BatchNorm1d(3), (4, 3))
case("batch_norm2d", nn.BatchNorm2d(2, eps=1e-3), (2, 2, 3, 2))
case("batch_norm2d_eval", nn.BatchNorm2d(2), (2, 2, 3, 2), train=False)
case("layer_norm", nn.LayerNorm(5), (3, 5))
case("layer_norm_2", nn.LayerNorm((2, 3), eps=1e-3), (4, 2, 3))
case("layer_norm_plain", nn.LayerNorm(5, elementwise_affine=False), (3, 5))
case("group_norm", nn.GroupNorm(2, 4), (2, 4, 3, 2))
case("instance_norm2d", nn.InstanceNorm2d(2, affine=True), (2, 2, 3, 2))
case("rms_norm", nn.RMSNorm(5, eps=1e-5), (3, 5))
case("embedding", nn.Embedding(5, 3, padding_idx=2), torch.tensor([[0, 4, 2], [1, 4, 0]]))
case("upsample", nn.Upsample(scale_factor=2), (1, 2, 2, 3))
case("upsample_nearest", nn.Upsample(size=(5, 4)), (1, 2, 3, 3))
case("upsample_linear", nn.Upsample(scale_factor=3, mode="linear"), (2, 2, 4))
case("upsample_linear_corners", nn.Upsample(size=7, mode="linear", align_corners=True), (2, 2, 4))
case("upsample_bilinear", nn.Upsample(scale_factor=2, mode="bilinear"), (1, 2, 3, 2))
case("upsample_bilinear_corners", nn.Upsample(size=(5, 4), mode="bilinear", align_corners=True), (1, 2, 3, 3))
case("upsample_bicubic", nn.Upsample(scale_factor=(2, 3), mode="bicubic"), (1, 2, 3, 4))
case("upsample_bicubic_corners", nn.Upsample(size=(7, 5), mode="bicubic", align_corners=True), (1, 2, 4, 5))
for kind in ("RNN", "LSTM", "GRU"):
    case(kind.lower(), getattr(nn, kind)(3, 4), (5, 2, 3), call=lambda m, x: m(x)[0])
    case(f"{kind.lower()}_deep", getattr(nn, kind)(3, 2, num_layers=2, bidirectional=True, batch_first=True), (2, 4, 3),
         call=lambda m, x: m(x)[0])
case("attention", nn.MultiheadAttention(4, 2, batch_first=True), (2, 3, 4), (2, 5, 4), (2, 5, 4),
     call=lambda m, q, k, v: m(q, k, v)[0])
padding = torch.tensor([[False, False, True, False, True], [False, True, True, True, True]])
hidden = torch.tensor([[False, True, False, False, False], [False, False, False, True, True], [True] + [False] * 4])
case("attention_masked", nn.MultiheadAttention(4, 2, batch_first=True), (2, 3, 4), (2, 5, 4), (2, 5, 4),
     call=lambda m, q, k, v: m(q, k, v, attn_mask=hidden)[0])
case("attention_padded", nn.MultiheadAttention(4, 2, batch_first=True), (2, 3, 4), (2, 5, 4), (2, 5, 4),
     call=lambda m, q, k, v: m(q, k, v, key_padding_mask=padding)[0])
case("transformer", nn.Transformer(4, 2, 1, 2, 8, dropout=0.0, batch_first=True), (2, 5, 4), (2, 3, 4),
     call=lambda m, x, y: m(x, y, tgt_mask=nn.Transformer.generate_square_subsequent_mask(3),
                            src_key_padding_mask=padding, memory_key_padding_mask=padding))
case("encoder_layer", nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True), (2, 3, 4))
case("encoder_layer_first", nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True, norm_first=True,
                                                       activation="gelu"), (2, 3, 4))
case("decoder_layer", nn.TransformerDecoderLayer(4, 2, 8, dropout=0.0, batch_first=True), (2, 3, 4), (2, 5, 4))
if not LIVE:
    print("};\n\n}  // namespace test")
