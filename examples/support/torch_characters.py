#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""PyTorch's loss beside those of char_lstm and char_gpt: torch_characters.py lstm|gpt TEXT [EPOCHS] [SEED]

The same model, options, windows and batches; another order of the windows and other first weights, as any seed gives.
"""
import sys
import time

import torch
from torch import nn

kind, path = sys.argv[1:3]
epochs = int(sys.argv[3]) if len(sys.argv) > 3 else 20
torch.manual_seed(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
torch.set_num_threads(1)
text = open(path, "rb").read()
alphabet = sorted(set(text))
numbers = torch.tensor([alphabet.index(c) for c in text])
window, batch, cut = 64, 16, len(text) * 9 // 10


class Lstm(nn.Module):
    def __init__(self, characters):
        super().__init__()
        self.embedding = nn.Embedding(characters, 64)
        self.lstm = nn.LSTM(64, 192, batch_first=True)
        self.scores = nn.Linear(192, characters)

    def forward(self, x):
        return self.scores(self.lstm(self.embedding(x))[0])


class Gpt(nn.Module):
    def __init__(self, characters):
        super().__init__()
        self.character, self.place = nn.Embedding(characters, 96), nn.Embedding(window, 96)
        layer = lambda: nn.TransformerEncoderLayer(96, 4, 384, 0.0, "gelu", batch_first=True, norm_first=True)
        self.layers = nn.ModuleList([layer() for _ in range(3)])
        self.norm = nn.LayerNorm(96)
        self.scores = nn.Linear(96, characters)

    def forward(self, x):
        y = self.character(x) + self.place(torch.arange(x.shape[1]))
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        for layer in self.layers:
            y = layer(y, src_mask=mask)
        return self.scores(self.norm(y))


def windows(part):
    n = (len(part) - 1) // window
    return part[:n * window].view(n, window), part[1:n * window + 1].view(n, window)


def loss_of(x, y):
    return nn.functional.cross_entropy(net(x).flatten(0, 1), y.flatten())


net = (Lstm if kind == "lstm" else Gpt)(len(alphabet))
optimizer = (torch.optim.Adam(net.parameters(), lr=3e-3) if kind == "lstm" else torch.optim.AdamW(net.parameters(), lr=1e-3))
(x, y), (test_x, test_y) = windows(numbers[:cut]), windows(numbers[cut:])
start = time.time()
for epoch in range(epochs):
    for which in torch.randperm(len(x)).split(batch):
        loss = loss_of(x[which], y[which])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
    with torch.no_grad():
        validation = loss_of(test_x, test_y).item()
    print(f"epoch {epoch + 1}  loss {loss.item():.4f}  validation loss {validation:.4f}")
print(f"{epochs * x.numel() / (time.time() - start):.0f} characters/s\nvalidation_loss={validation:.4f}")
