"""Distils the static embeddings of the package `wordllama` into what `runtrue.fields` needs.

`python scripts/vectors.py`, in an environment with wordllama, writes `vectors.bin` there: the
words, one a line, an empty line, and a row of signed bytes for each. The words are those that
wordllama knows whole and those of the thesaurus; the rows are its 256 numbers turned onto the
axes that matter most for these words.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import wordllama
from safetensors.numpy import load_file
from tokenizers import Tokenizer

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "src"))

from runtrue.fields.thesaurus import thesaurus  # noqa: E402
from runtrue.fields.vectors import WIDTH  # noqa: E402
from runtrue.fields.words import stem  # noqa: E402

PACKAGE = Path(wordllama.__file__).parent
WEIGHTS = PACKAGE / "weights" / "l2_supercat_256.safetensors"
TOKENIZER = PACKAGE / "tokenizers" / "l2_supercat_tokenizer_config.json"


def main() -> None:
    (table,) = load_file(WEIGHTS).values()
    table = table.astype("float32")
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    spelled: dict[str, str] = {}
    for word in sorted({*whole_words(tokenizer), *thesaurus_words()}, key=lambda w: (len(w), w)):
        spelled.setdefault(stem(word), word)
    rows = np.array([vector(table, tokenizer, word) for word in spelled.values()])
    rows -= rows.mean(axis=0)
    axes = np.linalg.svd(rows, full_matrices=False)[2][:WIDTH]
    rows = rows @ axes.T
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    numbers = np.clip(np.round(rows * 254), -127, 127).astype("int8")
    head = "\n".join(spelled).encode() + b"\n\n"
    (ROOT / "src/runtrue/fields/vectors.bin").write_bytes(head + numbers.tobytes())


def whole_words(tokenizer: Tokenizer) -> set[str]:
    tokens = (token[1:] for token in tokenizer.get_vocab() if token.startswith("▁"))
    return {t for t in tokens if len(t) > 2 and t.isascii() and t.isalpha() and t.islower()}


def thesaurus_words() -> set[str]:
    known = thesaurus()
    terms = {*known.same, *known.related, *known.excluded}
    return {w for w in known.words if w.isascii() and w.isalpha() and stem(w) in terms}


def vector(table: np.ndarray, tokenizer: Tokenizer, word: str) -> np.ndarray:
    mean = table[tokenizer.encode(word, add_special_tokens=False).ids].mean(axis=0)
    return mean / np.linalg.norm(mean)


if __name__ == "__main__":
    main()
