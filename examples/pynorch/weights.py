#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Prints weights.txt, the numbers that the article's network begins with: python3 weights.py > weights.txt"""
import random

random.seed(1)
for name, count in ("fc1.weight", 10), ("fc1.bias", 10), ("fc2.weight", 10), ("fc2.bias", 1):
    print(f"// {name}")
    for _ in range(count):
        print(f"{random.uniform(-1, 1)!r},")
