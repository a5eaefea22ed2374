"""Makes bert_hugging_face/: a tiny BERT as transformers saves it, and its outputs.

Made with torch 2.13.0, transformers 5.23.0 and NumPy 2.4.6 (extra `parity`), seed 20:

    python tests/goldens/make_bert_hugging_face.py

Every parameter is drawn from N(0, 0.3), gains of norms from N(1, 0.3). The numbers of
heads, segments and the epsilon are no defaults, so that none can be assumed.
"""

import shutil

import numpy as np
import torch
import transformers
from maker_tools import HERE, draw_torch

SEED = 20
VOCABULARY = (
    "[PAD] [UNK] [CLS] [SEP] [MASK] the a cat dog sat ran ##s ##ing on mat . ,".split()
)


def inputs():
    """Ids, segments, mask (3, 7) with padding, and positions (3, 2) to predict."""
    ids = [[2, 5, 7, 9, 3, 0, 0], [2, 6, 4, 11, 3, 10, 3], [2, 16, 15, 3, 14, 4, 3]]
    segments = [[0] * 7, [0] * 5 + [1] * 2, [0, 0, 0, 0, 2, 2, 1]]
    return {
        "token_ids": np.array(ids),
        "segment_ids": np.array(segments),
        "padding_mask": np.array([[1] * 5 + [0] * 2, [1] * 7, [1] * 7]),
        "mask_positions": np.array([[1, 3], [2, 5], [5, 0]]),
    }


def main(directory):
    """Writes the model, its outputs and its vocabulary; replaces the directory."""
    config = transformers.BertConfig(
        vocab_size=len(VOCABULARY),
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=12,
        max_position_embeddings=9,
        type_vocab_size=3,
        hidden_act="gelu",
        hidden_dropout_prob=0.05,
        attention_probs_dropout_prob=0.15,
        layer_norm_eps=3e-3,
        attn_implementation="eager",
    )
    model = transformers.BertForPreTraining(config).eval()
    draw_torch(model.named_parameters(), SEED)
    x = inputs()
    with torch.no_grad():
        y = model(
            input_ids=torch.tensor(x["token_ids"]),
            token_type_ids=torch.tensor(x["segment_ids"]),
            attention_mask=torch.tensor(x["padding_mask"]),
            output_hidden_states=True,
            output_attentions=True,
        )
        pooled = model.bert.pooler(y.hidden_states[-1])
    logits = np.take_along_axis(
        y.prediction_logits.numpy(), x["mask_positions"][:, :, None], axis=1
    )
    shutil.rmtree(directory, ignore_errors=True)
    model.save_pretrained(directory)
    torch.save(model.state_dict(), directory / "pytorch_model.bin")
    (directory / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    (directory / "tokenizer_config.json").write_text('{"do_lower_case": true}\n')
    np.savez(
        directory / "outputs.npz",
        **x,
        sequence_output=y.hidden_states[-1].numpy(),
        pooled_output=pooled.numpy(),
        layer_outputs=np.stack([h.numpy() for h in y.hidden_states], axis=1),
        attention_scores=np.stack([a.numpy() for a in y.attentions], axis=1),
        masked_lm_logits=logits,
        next_sentence_logits=y.seq_relationship_logits.numpy(),
    )


if __name__ == "__main__":
    main(HERE / "bert_hugging_face")
