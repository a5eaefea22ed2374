"""What the runs of causal language models on documents of token ids share."""

import functools

import numpy as np

from zoo.data.streams.document_streams import (
    join_token_ids,
    read_token_ids,
    write_token_ids,
)
from zoo.pretraining.preparation import HERE, all_documents, corpus_of
from zoo.pretraining.recipes import find_held_out, find_train
from zoo.pretraining.start import make_optimizer, start_model, start_tokenizer
from zoo.tasks import CausalLM


class TokenDocuments:
    """A part of a run: its text is tokenised once, and read from files later.

    A class of an objective inherits from it and from `Objective`, in this order. It
    defines the methods that raise NotImplementedError.

    Attributes:
        corpus: what `read` gives for the training files.
        held_out: dict of the name of a held-out file to the same for this file.
    """

    prepares, task = True, CausalLM
    read, join = staticmethod(read_token_ids), staticmethod(join_token_ids)

    def __init__(self, recipe, data, output, preparation=HERE):
        self.preparation = preparation
        self.recipe, self.directory = recipe, output / "examples"
        self.sizes = recipe.sizes()
        train = find_train(data, recipe.train, recipe.valid)
        self.tokenizer = start_tokenizer(recipe) or self.learn_tokenizer(train, output)
        self.corpus = self.prepare("train", train)
        paths = find_held_out(data, recipe.valid)
        self.held_out = {n: self.prepare(n, [path]) for n, path in paths.items()}

    def learn_tokenizer(self, paths, output):
        """Makes the tokenizer. The first call learns it from the training files."""
        raise NotImplementedError

    @staticmethod
    def token_ids(recipe, tokenizer, documents):
        """Yields the token ids of documents, see `zoo.data.write_token_ids`."""
        raise NotImplementedError

    @classmethod
    def write_ids(cls, recipe, tokenizer, parts, directory):
        """Writes the token ids of parts, see `zoo.pretraining.preparation`."""
        ids = cls.token_ids(recipe, tokenizer, all_documents(parts))
        write_token_ids(ids, directory)

    @classmethod
    def rows(cls, recipe, tokenizer, number, documents):
        """Yields the token ids of each text; see `Objective.rows`."""
        for ids, sizes in cls.token_ids(recipe, tokenizer, documents):
            for row in np.split(ids, np.cumsum(sizes)[:-1]):
                yield {"token_ids": row}

    def held_out_batches(self, model, corpus):
        """The batches of a held-out file, each token once."""
        raise NotImplementedError

    def prepare(self, name, paths):
        """Reads the token ids of some files. The first call writes them."""
        if not (self.directory / name).exists():
            write = functools.partial(self.write_ids, self.recipe, self.tokenizer)
            corpus = corpus_of(self.recipe, paths)
            self.preparation.write(corpus, write, self.join, self.directory / name)
        return self.read(self.directory / name)

    def start(self, **options):
        """Makes the compiled model at the start of the run; `options` are its own."""
        config = dict(self.recipe.config)
        if self.recipe.start is None:
            config["vocabulary_size"] = self.tokenizer.vocabulary_size
        model = start_model(self.recipe, CausalLM, self.tokenizer, config, **options)
        # The accuracy, which is another metric, takes a tenth of an update.
        model.compile(make_optimizer(self.recipe), weighted_metrics=[])
        return model

    def evaluate(self, model):
        """Cross-entropy and perplexity of a token of each held-out file, dicts."""
        found = {}
        for name, corpus in self.held_out.items():
            batches = self.held_out_batches(model, corpus)
            loss = model.evaluate(batches, return_dict=True, verbose=0)["loss"]
            found[name] = {"loss": loss, "perplexity": float(np.exp(loss))}
        return found
