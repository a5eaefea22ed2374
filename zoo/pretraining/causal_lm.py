"""Pretraining of causal language models: every token predicts the next one."""

from zoo.data import unmask
from zoo.pretraining.masked_lm import MaskedPretraining
from zoo.pretraining.optimizer import make_optimizer
from zoo.pretraining.start import start_model
from zoo.tasks import CausalLM


class CausalPretraining(MaskedPretraining):
    """A pretraining run of a causal language model.

    The rows are those of a masked language model, without masks. So the two objectives
    can be compared on the same text.
    """

    name = CausalLM.task_name

    def build(self):
        """Makes the compiled model at the start of the run."""
        recipe = self.recipe
        config = {**recipe.config, "vocabulary_size": self.tokenizer.vocabulary_size}
        length = recipe.sequence_length
        model = start_model(
            recipe, CausalLM, self.tokenizer, config, sequence_length=length
        )
        model.compile(make_optimizer(recipe))
        return model

    def example(self, model, step, batch):
        """Makes a training example from a batch of stored rows."""
        return self.held_out_example(model, batch)

    def held_out_example(self, model, batch):
        """Makes an example without masks, whose targets are the next tokens."""
        rows = unmask(batch)
        return model.finish({name: rows[name] for name in model.input})
