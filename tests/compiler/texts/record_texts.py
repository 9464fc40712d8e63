"""Records the small random models of this directory, and what sentence-transformers computes with them.

Usage: python3 tests/compiler/texts/record_texts.py     (PyTorch, transformers and sentence-transformers)

sentence-bert: a BERT with pooling, a dense layer and normalisation, and a prompt. cross-encoder: a BERT with one label.
classifier: a RoBERTa with three labels. Each directory has the model's own files and expected.json, with texts and the
results for them: "embeddings" of encode(), "scores" of CrossEncoder.predict(), "probabilities" of the text
classification pipeline of transformers.
"""
import json
import pathlib
import shutil

import torch
import transformers
from sentence_transformers import CrossEncoder, SentenceTransformer
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

HERE = pathlib.Path(__file__).parent
WORDS = ["iron", "ore", "is", "reduced", "with", "coke", "hot", "the", "furnace", "was", "lit", "before", "dawn", "what",
         "?", ".", "##s", "##ing", "melt", "cast"]
TEXTS = ["Iron ore is reduced with coke.", "hot", "The furnace was lit before dawn. The ore melts.", "casting is hot",
         "what is the furnace?", "unknownword . . ."]
PAIRS = [["what is hot?", text] for text in TEXTS]


def tokenizer(folder, pad="[PAD]", unknown="[UNK]", first="[CLS]", last="[SEP]", order=(0, 1, 2, 3)):
    """A WordPiece tokenizer of a few words. `order`: the four special tokens in the order of their ids."""
    special = (pad, unknown, first, last)
    ids = {token: i for i, token in enumerate([*(special[i] for i in order), "[MASK]", *WORDS])}
    made = Tokenizer(models.WordPiece(ids, unk_token=unknown))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}", pair=f"{first} $A {last} $B:1 {last}:1", special_tokens=[(t, ids[t]) for t in (first, last)])
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=made, pad_token=pad, unk_token=unknown, cls_token=first,
                                                sep_token=last, mask_token="[MASK]", model_max_length=24,
                                                model_input_names=["input_ids", "token_type_ids", "attention_mask"])
    fast.save_pretrained(folder)
    return len(ids)


def config(cls, words, **others):
    return cls(vocab_size=words, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=20,
               max_position_embeddings=26, initializer_range=0.5, **others)


def fresh(name):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    torch.manual_seed(len(name))
    return folder


def save(folder, **results):
    (folder / "expected.json").write_text(json.dumps(results, indent=1) + "\n")


def sentence_bert():
    from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer
    folder = fresh("sentence-bert")
    plain = folder / "plain"
    words = tokenizer(plain)
    transformers.BertModel(config(transformers.BertConfig, words)).save_pretrained(plain)
    base = Transformer(str(plain), max_seq_length=20)
    dense = Dense(in_features=32, out_features=12, activation_function=torch.nn.Tanh())
    model = SentenceTransformer(modules=[base, Pooling(16, pooling_mode=("cls", "mean")), dense, Normalize()],
                                prompts={"query": "what is "})
    model.save_pretrained(str(folder), create_model_card=False)
    shutil.rmtree(plain)
    model = SentenceTransformer(str(folder))
    save(folder, texts=TEXTS, embeddings=model.encode(TEXTS).tolist(),
         queries=model.encode(TEXTS, prompt_name="query").tolist())


def cross_encoder():
    folder = fresh("cross-encoder")
    words = tokenizer(folder)
    transformers.BertForSequenceClassification(config(transformers.BertConfig, words, num_labels=1)).save_pretrained(folder)
    model = CrossEncoder(str(folder))
    save(folder, pairs=PAIRS, scores=model.predict(PAIRS).tolist(),
         logits=model.predict(PAIRS, activation_fn=torch.nn.Identity()).tolist())


def classifier():
    folder = fresh("classifier")
    words = tokenizer(folder, "<pad>", "<unk>", "<s>", "</s>", order=(2, 0, 3, 1))
    settings = config(transformers.RobertaConfig, words, pad_token_id=1, bos_token_id=0, eos_token_id=2, num_labels=3,
                      id2label={0: "cold", 1: "warm", 2: "hot"}, label2id={"cold": 0, "warm": 1, "hot": 2})
    transformers.RobertaForSequenceClassification(settings).save_pretrained(folder)
    pipeline = transformers.pipeline("text-classification", model=str(folder), device="cpu")
    rows = pipeline(TEXTS, top_k=None)
    names = list(settings.id2label.values())
    save(folder, texts=TEXTS, labels=[row[0]["label"] for row in rows],
         probabilities=[[next(x["score"] for x in row if x["label"] == name) for name in names] for row in rows])


if __name__ == "__main__":
    sentence_bert()
    cross_encoder()
    classifier()
