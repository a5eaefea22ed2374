"""Makes gpt_generation.json: what `transformers` writes with a tiny GPT-2.

Made with torch 2.13.0 and transformers 5.24.0 (extra `parity`):

    python tests/goldens/make_gpt_generation.py

The weights are those of `tests/gpt_case.py`. The file has the new tokens of greedy
search and of beams, the probabilities of the next token from which samples are drawn,
and the log-probability of a long text by windows.
"""

import json
import pathlib
import sys

import torch
import transformers

sys.path.append(str(pathlib.Path(__file__).parents[1]))

import gpt_case as case  # noqa: E402

OUTPUT = pathlib.Path(__file__).with_name("gpt_generation.json")
STRIDE = 40


def make_model():
    """The GPT-2 of transformers with the drawn weights."""
    config = transformers.GPT2Config(
        vocab_size=case.TOKENS,
        n_positions=case.POSITIONS,
        n_embd=case.WIDTH,
        n_inner=case.INNER,
        n_layer=case.LAYERS,
        n_head=case.HEADS,
        bos_token_id=case.END,
        eos_token_id=case.END,
    )
    model = transformers.GPT2LMHeadModel(config).eval()
    weights = {f"transformer.{k}": v for k, v in case.draw_weights().items()}
    weights["lm_head.weight"] = weights["transformer.wte.weight"]
    state = {name: torch.tensor(value) for name, value in weights.items()}
    model.load_state_dict(state)
    return model


def ids_of(prompt):
    return torch.tensor([list(prompt.encode()) or [case.END]])


def search(model, prompt, options):
    ids = ids_of(prompt)
    found = model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        do_sample=False,
        pad_token_id=case.END,
        **options,
    )
    return found[0, ids.shape[1] :].tolist()


def law(model, options):
    """The probabilities of the first new token of the first prompt, list of float."""
    ids = ids_of(case.PROMPTS[0])
    logits = model(ids).logits[:, -1]
    for name, kind in (
        ("temperature", transformers.TemperatureLogitsWarper),
        ("top_k", transformers.TopKLogitsWarper),
        ("top_p", transformers.TopPLogitsWarper),
    ):
        if name in options:
            logits = kind(options[name])(ids, logits)
    return torch.softmax(logits, dim=-1)[0].tolist()


def log_probability(model, ids, longest, stride):
    """That of a long text, by windows that overlap.

    A window predicts the token after it, too. In the guide of transformers, it does
    not.
    """
    total, done = 0.0, 1
    for begin in range(0, len(ids), stride):
        end = min(begin + longest, len(ids) - 1)
        window = torch.tensor([ids[begin:end]])
        scores = torch.log_softmax(model(window).logits[0], dim=-1)
        for place in range(done, end + 1):
            total += scores[place - begin - 1, ids[place]].item()
        done = end + 1
        if done == len(ids):
            break
    return total


def long_text():
    return (" ".join(case.PROMPTS) * 6).encode()[:300]


@torch.no_grad()
def main():
    model = make_model()
    found = {
        name: [search(model, prompt, options) for prompt in case.PROMPTS]
        for name, (_, options) in case.SEARCHES.items()
    }
    found["laws"] = {name: law(model, o) for name, o in case.SAMPLES.items()}
    ids = [*long_text().decode(errors="ignore").encode()]
    windows = (case.POSITIONS, STRIDE), (case.POSITIONS, case.POSITIONS // 2)
    found["long"] = [log_probability(model, ids, *sizes) for sizes in windows]
    OUTPUT.write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
