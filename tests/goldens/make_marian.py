"""Makes marian/: two tiny MarianMTs as transformers saves them, and what they compute.

Made with torch 2.13.0, transformers 5.23.0, sentencepiece 0.2.3 and NumPy 2.4.6 (extra
`parity`, and the package sentencepiece), seeds 12 and 11:

    python tests/goldens/make_marian.py

Every parameter is drawn from N(0, 0.3), gains of norms from N(1, 0.3). The embedding of
padding is drawn too. No size or option is a default, so that none can be assumed:

- `joint` has one vocabulary, swish, and the defaults of `generate` in
  generation_config.json;
- `separate` has a vocabulary for each side, relu, embeddings without a scale, and the
  defaults in config.json, as the uploads of 2020 have them.
"""

import io
import json
import shutil

import numpy as np
import sentencepiece
import torch
import transformers
from maker_tools import HERE, draw_torch

SEEDS = {"joint": 12, "separate": 11}
ENGLISH = """the cat sat on the mat . a dog ran in the rain .
is this the house of the old man ? no , this is the house of a friend .
good morning , my friend ! the sun is warm today . we walk to the sea .
an apple a day is good . the children read the book in the garden ."""
GERMAN = """die katze saß auf der matte . ein hund lief im regen .
ist das das haus des alten mannes ? nein , das ist das haus eines freundes .
guten morgen , mein freund ! die sonne ist heute warm . wir gehen zum meer .
ein apfel am tag ist gut . die kinder lesen das buch im garten ."""
TEXTS = [
    "the cat sat on the mat .",
    "",
    "   ",
    "two  spaces\tand a tab",
    "Ünknown Größe 漢字 \U0001f600",
    ">>de<< the dog ran .",
    ">>de<<",
    ">>xx<< no such code",
    "in the middle >>de<< of it",
    " >>de<< after a space",
    ">> no code",
    "the garden is old and the sea is warm today , my friend !",
    "saß auf der matte",
]
SIZES = {
    "joint": {
        "encoder_layers": 2,
        "decoder_layers": 2,
        "d_model": 16,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 32,
        "decoder_ffn_dim": 32,
        "max_position_embeddings": 24,
        "activation_function": "swish",
        "scale_embedding": True,
        "dropout": 0.05,
        "attention_dropout": 0.15,
        "activation_dropout": 0.25,
    },
    "separate": {
        "encoder_layers": 2,
        "decoder_layers": 1,
        "d_model": 12,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 20,
        "decoder_ffn_dim": 20,
        "max_position_embeddings": 18,
        "activation_function": "relu",
        "scale_embedding": False,
        "share_encoder_decoder_embeddings": False,
    },
}


def draw(model, seed):
    """Sets every parameter of a torch model, and the bias of its logits, at random."""
    arrays = [*model.named_parameters(), ("bias", model.final_logits_bias)]
    draw_torch([row for row in arrays if "embed_positions" not in row[0]], seed)
    with torch.no_grad():
        model.final_logits_bias[0, 0] += 1.0  # so that sequences end


def train(text, size):
    """The content of a SentencePiece model, and its pieces without the special ones."""
    content = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text.splitlines()),
        model_writer=content,
        vocab_size=size,
        model_type="unigram",
        normalization_rule_name="identity",
        hard_vocab_limit=False,
        minloglevel=2,
    )
    model = sentencepiece.SentencePieceProcessor(model_proto=content.getvalue())
    pieces = [model.id_to_piece(i) for i in range(model.get_piece_size())]
    return content.getvalue(), [p for p in pieces if p not in ("<unk>", "<s>", "</s>")]


def write_vocabularies(directory, joint):
    """Writes the files of a tokenizer; some pieces are in no vocabulary."""
    source, english = train(ENGLISH, 40)
    target, german = train(GERMAN, 36)
    (directory / "source.spm").write_bytes(source)
    (directory / "target.spm").write_bytes(target)
    if joint:
        pieces = list(dict.fromkeys([*english[2:], *german[1:]]))
        sides = {"vocab.json": [*pieces, ">>de<<", ">>fr<<", "<pad>"]}
    else:
        # Both sides have the same id of padding, which is not the last one here.
        sides = {
            "vocab.json": [*english[:20], "<pad>", ">>de<<", *english[22:]],
            "target_vocab.json": [*german[:20], "<pad>", *german[21:]],
        }
    found = []
    for name, pieces in sides.items():
        ids = {piece: i for i, piece in enumerate(["</s>", "<unk>", *pieces])}
        text = json.dumps(ids, ensure_ascii=False, indent=0)
        (directory / name).write_text(text + "\n", "utf-8")
        found.append(ids)
    options = {"source_lang": "eng", "target_lang": "deu", "model_max_length": 18}
    if not joint:
        options |= {"separate_vocabs": True, "target_vocab_file": "target_vocab.json"}
    (directory / "tokenizer_config.json").write_text(json.dumps(options) + "\n")
    return found[0], found[-1]


def make_model(name, source, target):
    pad = source["<pad>"]
    config = transformers.MarianConfig(
        **SIZES[name],
        vocab_size=len(source),
        decoder_vocab_size=len(target),
        pad_token_id=pad,
        decoder_start_token_id=pad,
        bos_token_id=0,
        eos_token_id=0,
        attn_implementation="eager",
    )
    model = transformers.MarianMTModel(config).eval()
    draw(model, SEEDS[name])
    return model


def compute(model, target_size, pad, longest):
    """Outputs of a model for rows of random tokens, and what it writes for them."""
    generator = np.random.default_rng(5)
    lengths = np.array([9, 4, 1, 7, 11, 2])
    mask = (np.arange(11)[None] < lengths[:, None]).astype("int64")
    ids = np.where(mask, generator.integers(0, pad, mask.shape), pad)
    read = generator.integers(0, target_size, (6, 8))
    read[:, 0] = pad
    given = {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask)}
    found = {"token_ids": ids, "padding_mask": mask, "decoder_token_ids": read}
    with torch.no_grad():
        y = model(
            **given, decoder_input_ids=torch.tensor(read), output_hidden_states=True
        )
        found["encoder_output"] = y.encoder_last_hidden_state.numpy()
        found["decoder_output"] = y.decoder_hidden_states[-1].numpy()
        found["logits"] = y.logits.numpy()
        for name, options in (
            ("greedy", {"num_beams": 1}),
            ("default", {}),
            ("beams", {"num_beams": 4, "length_penalty": 2.0}),
            ("several", {"num_beams": 5, "num_return_sequences": 3, "min_length": 4}),
        ):
            y = model.generate(
                **given, **options, return_dict_in_generate=True, output_scores=True
            )
            tokens = np.zeros((len(y.sequences), longest - 1), "int64")
            # The first token is the start. What follows the end is padding.
            written = y.sequences.numpy()[:, 1:]
            tokens[:, : written.shape[1]] = np.where(written == pad, 0, written)
            found[f"{name}_tokens"] = tokens
            if "sequences_scores" in y:
                found[f"{name}_scores"] = y.sequences_scores.numpy()
    return found


def describe_texts(directory, ids):
    tokenizer = transformers.MarianTokenizer.from_pretrained(directory)
    rows = [[i for i in row if i] + [0] for row in ids.tolist()]
    return {
        "texts": TEXTS,
        "source": [tokenizer(text).input_ids for text in TEXTS],
        "target": [tokenizer(text_target=text).input_ids for text in TEXTS],
        "ids": rows,
        "written": [tokenizer.decode(row, skip_special_tokens=True) for row in rows],
    }


def write(name, directory):
    joint = name == "joint"
    directory.mkdir(parents=True)
    source, target = write_vocabularies(directory, joint)
    model, pad = make_model(name, source, target), source["<pad>"]
    longest = SIZES[name]["max_position_embeddings"]
    model.generation_config = transformers.GenerationConfig(
        num_beams=3 if joint else 2,
        max_length=longest,
        length_penalty=1.0 if joint else 0.7,
        bad_words_ids=[[pad]] if joint else [[pad], [1]],
        forced_eos_token_id=0,
        decoder_start_token_id=pad,
        pad_token_id=pad,
        eos_token_id=0,
        bos_token_id=0,
    )
    model.save_pretrained(directory)
    outputs = compute(model, len(target), pad, longest)
    np.savez_compressed(directory / "outputs.npz", **outputs)
    ids = outputs["decoder_token_ids"]
    texts = json.dumps(describe_texts(directory, ids), ensure_ascii=False, indent=0)
    (directory / "texts.json").write_text(texts + "\n", "utf-8")
    if not joint:
        path = directory / "generation_config.json"
        defaults = json.loads(path.read_text())
        path.unlink()
        path = directory / "config.json"
        values = {**json.loads(path.read_text()), **defaults}
        path.write_text(json.dumps(values, indent=2, sort_keys=True) + "\n")


if __name__ == "__main__":
    root = HERE / "marian"
    shutil.rmtree(root, ignore_errors=True)
    for variant in SEEDS:
        write(variant, root / variant)
