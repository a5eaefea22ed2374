"""What the runs of all objectives share."""


class Objective:
    """The base of the runs of recipes.

    Attributes:
        sizes: list of int, tokens of each update.
    """

    def tokens(self):
        """The number of tokens in all updates, int."""
        return sum(self.sizes)

    def record(self):
        """What the record of the preset says of this run, a dict."""
        return {}


def only_stage(recipe, model):
    """The only stage of a recipe.

    Args:
        recipe: `zoo.pretraining.Recipe`.
        model: str, the kind of model, for the message.

    Raises:
        ValueError: if there are several stages.
    """
    if len(recipe.stages) > 1:
        raise ValueError(
            f"The recipe of {model} must have one stage. Received: {recipe.stages}."
        )
    return recipe.stages[0]
