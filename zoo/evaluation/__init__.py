"""Metrics with their official definitions, on arrays and lists."""

from zoo.evaluation.assessment import (
    Assessment,
    assess_classes,
    assess_numbers,
    assess_tags,
)
from zoo.evaluation.baselines import (
    copied_texts,
    frequent_label_set,
    majority_label,
    mean_number,
    most_frequent_tags,
    nearest_targets,
    right_branching_trees,
    sample_rows,
)
from zoo.evaluation.bootstrap import bootstrap_interval, paired_bootstrap
from zoo.evaluation.bracketing import (
    BracketCounts,
    assess_trees,
    bracketing_scores,
    count_brackets,
    read_brackets,
)
from zoo.evaluation.classification import accuracy, confusion_matrix
from zoo.evaluation.glue_scores import evaluate_glue, glue_metrics
from zoo.evaluation.label_set_scores import (
    assess_label_sets,
    best_thresholds,
    label_matrix,
)
from zoo.evaluation.proportions import proportion_interval
from zoo.evaluation.spans import (
    allowed_transitions,
    convert_tags,
    find_scheme,
    find_spans,
    span_scores,
    write_spans,
)
from zoo.evaluation.squad_scores import (
    assess_answers,
    best_null_threshold,
    most_similar_sentences,
    no_answers,
    squad_scores,
)
from zoo.evaluation.tfidf_baselines import (
    tfidf_choice,
    tfidf_label,
    tfidf_label_sets,
    tfidf_number,
)
from zoo.evaluation.translations import (
    assess_texts,
    group_references,
    reference_streams,
    translation_scores,
)
from zoo.evaluation.vector_groups import group_vectors

__all__ = [
    "Assessment",
    "BracketCounts",
    "accuracy",
    "allowed_transitions",
    "assess_answers",
    "assess_classes",
    "assess_label_sets",
    "assess_numbers",
    "assess_tags",
    "assess_texts",
    "best_null_threshold",
    "best_thresholds",
    "assess_trees",
    "bootstrap_interval",
    "bracketing_scores",
    "confusion_matrix",
    "convert_tags",
    "copied_texts",
    "count_brackets",
    "evaluate_glue",
    "find_scheme",
    "find_spans",
    "frequent_label_set",
    "glue_metrics",
    "group_references",
    "group_vectors",
    "label_matrix",
    "majority_label",
    "mean_number",
    "most_frequent_tags",
    "most_similar_sentences",
    "nearest_targets",
    "no_answers",
    "paired_bootstrap",
    "proportion_interval",
    "read_brackets",
    "reference_streams",
    "right_branching_trees",
    "sample_rows",
    "span_scores",
    "squad_scores",
    "tfidf_choice",
    "tfidf_label",
    "tfidf_label_sets",
    "tfidf_number",
    "translation_scores",
    "write_spans",
]
