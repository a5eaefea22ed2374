"""The private names of Keras and TensorFlow that this package uses, all of them.

A private name begins with an underscore, or belongs to a private module. Functions read
and set private attributes. Classes override private methods, which call public methods
of the subclass, its hooks. All names were checked with the versions in `CHECKED`. For
another version, `tests/test_keras_internals.py` says which names it lacks.
"""

import inspect

import keras

CHECKED = {
    "keras": ("3.15",),
    "tensorflow": ("2.20", "2.21"),
    "tensorflow_text": ("2.20", "2.21"),
}


# Layers. Keras has public lists of inner layers for models only.
def all_layers(layer):
    """List of a layer and its inner layers, at any depth."""
    return layer._flatten_layers()


def sublayers(layer):
    """List of the inner layers of a layer, without those inside them."""
    return layer._flatten_layers(include_self=False, recursive=False)


def trainable_by_default(layer):
    """The variables of a layer alone that train with it, unless they were fixed."""
    # `layer.trainable_variables` lacks those whose `trainable` was set to False.
    return layer._trainable_variables


def mark_quantized(layer):
    """Says that a layer is quantized, before it is given a quantized policy."""
    # Otherwise Keras calls `quantize` again.
    layer._is_quantized = True


def mask_of(tensor):
    """The mask that a layer or loss of Keras gave a tensor, or None."""
    return getattr(tensor, "_keras_mask", None)


def set_mask(tensor, mask):
    """Gives a tensor the mask that `mask_of` returns."""
    from keras.src.backend.common.masking import set_keras_mask

    set_keras_mask(tensor, mask)  # tensors of JAX have no attributes


def set_recomputed(layer, chosen):
    """Whether Keras calls `rematerialized_call` of a layer in place of `call`."""
    layer._remat_mode = keras.RematScope() if chosen else None


def autocast_to(dtype):
    """A scope in which variables are read in a dtype; None for their own."""
    from keras.src.backend.common.variables import AutocastScope

    return AutocastScope(dtype)


# Models.
def model_strategy(model):
    """The strategy in whose scope a model was made, or None."""
    # `model.distribute_strategy` is the present strategy in place of None.
    return model._distribute_strategy


def loss_metrics(model):
    """The metrics in which Keras keeps the loss of a compiled model."""
    # `model.metrics` mixes them with the metrics of the user.
    return [model._loss_tracker, *getattr(model._compile_loss, "metrics", [])]


def losses_are_built(model):
    """Whether Keras has built the losses of a compiled model."""
    return model._compile_loss is None or model._compile_loss.built


def called_by_fit(arguments):
    """Whether the keyword arguments of `evaluate` come from `fit`."""
    return "_use_cached_eval_dataset" in arguments


class ModelHooks:
    """Base of a model, before `keras.Model`, which changes two steps of Keras.

    Hooks:
        first_batch(iterator): the batch from which Keras builds the metrics of a model
            that was made in the scope of a strategy. Keras takes the mean of the
            batches of the replicas.
        clone_on(inputs): the outputs of a copy of the model, with new weights, for
            `keras.models.clone_model`. Keras clones each layer alone.
    """

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        if iterator is not None and model_strategy(self) is not None:
            data_batch = self.first_batch(iterator)
        super()._maybe_symbolic_build(data_batch=data_batch)

    def _run_through_graph(self, inputs, **options):
        if "call_fn" in options and _clones(options.get("operation_fn")):
            return self.clone_on(inputs)
        return super()._run_through_graph(inputs, **options)


def _clones(function):
    """Whether a function is that of `keras.models.clone_model` without arguments."""
    for _ in range(2):  # Keras wraps a function of a layer
        if function is None:
            return False
        function = inspect.getclosurevars(function).nonlocals.get("clone_function")
    return getattr(function, "__name__", None) == "_clone_layer"


class StateHooks(ModelHooks):
    """The hooks of a model on JAX, whose state is not in its variables.

    Hooks:
        update_loss(loss, y, y_pred, sample_weight): adds the loss of a batch to the
            mean of the logs. Keras weighs it by the rows.
    """

    def _update_metrics_variables(self, variables, loss, x, y, y_pred, weights):
        pairs = list(zip(self.metrics_variables, variables, strict=True))
        with keras.StatelessScope(state_mapping=pairs) as scope:
            self.update_loss(loss, y, y_pred, weights)
            logs = self.compute_metrics(x, y, y_pred, weights)
        found = map(scope.get_current_value, self.metrics_variables)
        given = zip(found, variables, strict=True)
        return logs, [old if new is None else new for new, old in given]


# Data.
def read_batches(change, x, y=None, sample_weight=None, **options):
    """The batches that Keras reads from data, changed by a function, on JAX.

    Args:
        change: function of a batch, a tuple of x, y and sample_weight.
        x, y, sample_weight, **options: as of `keras.Model.fit`.

    Returns:
        An object that Keras takes for `x`, and that has the numbers of batches.
    """
    from keras.src.trainers.data_adapters import get_data_adapter

    adapter = get_data_adapter(x, y, sample_weight, **options)
    read = adapter.get_jax_iterator
    adapter.get_jax_iterator = lambda: map(change, read())
    return adapter


# Optimizers.
def learning_rate_of(optimizer):
    """The variable, schedule or function of the learning rate."""
    # `optimizer.learning_rate` is the value of a schedule, not the schedule.
    return optimizer._learning_rate


def batches_of(optimizer):
    """The variable that counts the batches."""
    # `optimizer.iterations` counts updates, of several batches each.
    return optimizer._iterations


def averages_of(optimizer):
    """The moving averages of the variables, with None for those without one."""
    return optimizer._model_variables_moving_average


def optimizer_strategy(optimizer):
    """TensorFlow's strategy in whose scope an optimizer was made; else None."""
    return getattr(optimizer, "_distribution_strategy", None)


def trained_by(optimizer):
    """List of the variables that an optimizer was built for."""
    return optimizer._trainable_variables


def index_of(optimizer, variable):
    """The number of a variable, of Keras or TensorFlow, in `trained_by`."""
    return optimizer._get_variable_index(variable)


def moments_of(optimizer, index):
    """The first and the second moment that Adam keeps for a variable."""
    return optimizer._momentums[index], optimizer._velocities[index]


def accumulator_of(optimizer, index):
    """The sum of squares that Adagrad keeps for a variable."""
    return optimizer._accumulators[index]


def attributes_of(optimizer):
    """Dict of the attributes of an optimizer, without the lists of all variables."""
    lists = "_variables", "_trainable_variables"
    return {k: value for k, value in vars(optimizer).items() if k not in lists}


def forget_build(optimizer):
    """Lets an optimizer be built again, for other variables."""
    optimizer.built = False
    optimizer._trainable_variables = []
    optimizer._trainable_variables_indices = {}


def untrack(optimizer, variable):
    """Takes a variable out of the state of an optimizer, if it is there."""
    optimizer._untrack_variable(variable)


class OptimizerHooks:
    """Base of an optimizer, before one of Keras, which changes steps of an update.

    Hooks, where `default` is the method of Keras:
        update_variables(grads, variables, default): one update, averages included.
        clip_each(grads, default): the gradients of a replica, clipped.
        sum_gradients(pairs, default, clip): pairs of the sum of a gradient over the
            replicas, and its variable. Only TensorFlow calls it. `clip` is the default
            of `clip_each`.
        update_averages(variables): moves the averages towards the variables.
        assign_averages(variables, default): sets the variables to their averages.

    Attributes:
        keras_decays: bool, whether Keras' weight decay is applied.
    """

    keras_decays = True

    def _backend_apply_gradients(self, grads, trainable_variables):
        default = super()._backend_apply_gradients
        self.update_variables(grads, trainable_variables, default)

    def _clip_gradients(self, grads):
        return self.clip_each(grads, super()._clip_gradients)

    def _all_reduce_sum_gradients(self, grads_and_vars):
        default, clip = super()._all_reduce_sum_gradients, super()._clip_gradients
        return self.sum_gradients(grads_and_vars, default, clip)

    def _update_model_variables_moving_average(self, trainable_variables):
        self.update_averages(trainable_variables)

    def _overwrite_model_variables_with_average_value(self, trainable_variables):
        default = super()._overwrite_model_variables_with_average_value
        self.assign_averages(trainable_variables, default)

    def _apply_weight_decay(self, variables):
        if self.keras_decays:
            super()._apply_weight_decay(variables)


# TensorFlow.
def inner_graph(graph, name):
    """The graph of the function of a name that operations of a graph call."""
    return graph._get_function(name).graph


def set_collective_keys(strategy, first):
    """Numbers the collective operations of a MirroredStrategy from `first` on."""
    extended = strategy.extended
    shared = extended._collective_ops
    extended._collective_key_base = first
    extended._collective_ops = extended._make_collective_ops_with_fallbacks()
    if extended._cross_device_ops is shared:
        extended._cross_device_ops = extended._collective_ops


class ResourceHooks:
    """Base of a resource; `create()` returns a new handle for `TrackableResource`."""

    def _create_resource(self):
        return self.create()


def sentencepiece_resource(model, name):
    """The handle of a SentencePiece model, which is shared by its name."""
    from tensorflow_text.python.ops import sentencepiece_tokenizer

    create = sentencepiece_tokenizer.gen_sentencepiece_tokenizer.sentencepiece_op
    return create(model=model, shared_name=name)


def set_resource(tokenizer, resource):
    """Sets the resource of a SentencePiece tokenizer of TensorFlow Text."""
    tokenizer._model_resource = resource
