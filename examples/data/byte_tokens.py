"""Text as token ids without a tokenizer: UTF-8 bytes, above the ids of the special tokens.

  0  padding, and what a decoder starts with
  1  end of the text
  2  between the two texts of a pair
  3  a byte that is hidden (masked language models)
  4 + b  the byte b: 260 ids in all
"""

PAD, END, BETWEEN, MASK, FIRST_BYTE = 0, 1, 2, 3, 4
VOCABULARY = FIRST_BYTE + 256


def encode(text):
    return [FIRST_BYTE + byte for byte in text.encode()]


def decode(ids):
    return bytes(i - FIRST_BYTE for i in ids if i >= FIRST_BYTE).decode(errors="replace")
