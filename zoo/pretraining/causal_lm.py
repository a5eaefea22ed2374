"""Pretraining of causal language models: every token predicts the next one."""

from zoo.data import unmask
from zoo.pretraining.masked_lm import MaskedPretraining
from zoo.pretraining.objective import StagedObjective
from zoo.tasks import CausalLM


class CausalPretraining(MaskedPretraining):
    """A pretraining run of a causal language model.

    The rows are those of a masked language model, without masks. So the two objectives
    can be compared on the same text.
    """

    task = CausalLM
    name = task.task_name

    task_options = staticmethod(StagedObjective.task_options)

    def example(self, model, step, batch):
        """Makes a training example from a batch of stored rows."""
        return self.held_out_example(model, batch)

    def held_out_example(self, model, batch):
        """Makes an example without masks, whose targets are the next tokens."""
        rows = unmask(batch)
        return model.finish({name: rows[name] for name in model.input})
