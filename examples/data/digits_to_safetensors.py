#!/usr/bin/env python3
"""scikit-learn's 1,797 handwritten digits (8 x 8, grey) as a data set of images.

Usage: digits_to_safetensors.py OUT.safetensors

  pixel_values  U8 [1797,1,8,8]  0 to 255, which Smelt reads as 0 to 1
  labels        U8 [1797]        the digit

The records are shuffled once, with a fixed seed: the end of the file, which `--held-back` takes, holds all writers
and all digits.
"""

import sys

import numpy as np
from sklearn.datasets import load_digits

import safetensors_file


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    pixels = np.rint(digits.images[order, None] * (255 / 16)).astype(np.uint8)
    safetensors_file.write(sys.argv[1], {"pixel_values": pixels, "labels": digits.target[order].astype(np.uint8)})
    print(f"{sys.argv[1]}: {len(order)} images")


if __name__ == "__main__":
    main()
