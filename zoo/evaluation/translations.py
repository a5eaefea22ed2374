"""BLEU and chrF of translations, computed by sacrebleu."""

import numpy as np

from zoo.checks.user_warnings import warn_user
from zoo.evaluation.assessment import Assessment
from zoo.evaluation.glue_scores import import_library


def group_references(sources, targets):
    """The different sources in their order, and the different targets of each."""
    if len(sources) != len(targets):
        raise ValueError(
            "`sources` and `targets` must have the same length. Received: "
            f"{len(sources)} and {len(targets)}."
        )
    found = {}
    for source, target in zip(sources, targets, strict=True):
        found.setdefault(source, {})[target] = None
    return list(found), [list(references) for references in found.values()]


def translation_scores(hypotheses, references):
    """Computes BLEU and chrF of a corpus.

    Source: Papineni et al. 2002; Popović 2015; Post 2018, whose program sacrebleu
    computes both, with its defaults. A signature says how, so that scores of others
    can be compared. BLEU of tensor2tensor and of the paper is of tokenized text, and is
    another number.

    Args:
        hypotheses: list of str.
        references: list of str, or list of lists of str: one reference or several for
            each hypothesis. The numbers may differ.

    Returns:
        dict of "bleu" and "chrf", floats in [0, 100], and "bleu_signature" and
        "chrf_signature", str.

    Raises:
        ImportError: if sacrebleu is not installed.
        ValueError: if there is nothing to score, the lengths differ, or a hypothesis
            has no reference.
    """
    metrics = _metrics()
    streams = reference_streams(_checked(hypotheses, references))
    found = {}
    for name, metric in metrics.items():
        found[name] = metric.corpus_score(list(hypotheses), streams).score
        found[f"{name}_signature"] = str(metric.get_signature())
    return found


def assess_texts(references, hypotheses):
    """Assesses written texts.

    Without sacrebleu, BLEU and chrF are left out with a warning.

    Args:
        references, hypotheses: see `translation_scores`.

    Returns:
        `zoo.evaluation.Assessment` with bleu and chrf in [0, 100], and exact_match, the
        share of hypotheses that equal a reference. The error of a row is 1 - chrF / 100
        of its hypothesis alone; without sacrebleu 0 or 1.

    Raises:
        ValueError: see `translation_scores`.
    """
    references = _checked(hypotheses, references)
    pairs = list(zip(hypotheses, references, strict=True))
    equal = np.array([text in found for text, found in pairs], float)
    errors, statistics = 1 - equal, {}
    try:
        metrics = _metrics()
    except ImportError as error:
        warn_user(str(error))
    else:
        chrf = metrics["chrf"]
        errors = [1 - chrf.sentence_score(*pair).score / 100 for pair in pairs]
        streams = reference_streams(references)
        for name, metric in metrics.items():
            statistics[name] = _corpus_statistic(metric, hypotheses, streams)
    statistics["exact_match"] = lambda rows: float(equal[rows].mean())
    proportions = {"exact_match": (equal, None)}
    return Assessment(len(pairs), statistics, np.array(errors), proportions=proportions)


def _corpus_statistic(metric, hypotheses, streams):
    """The score of chosen rows, a function, from the counts of every sentence."""
    # The public methods of sacrebleu would split the sentences again for every choice.
    counts = np.array(metric._extract_corpus_statistics(list(hypotheses), streams))

    def score(rows):
        return metric._aggregate_and_compute([counts[rows].sum(axis=0).tolist()]).score

    return score


def _checked(hypotheses, references):
    """The references as lists; raises ValueError unless all hypotheses have one."""
    references = [[r] if isinstance(r, str) else list(r) for r in references]
    missing = [number for number, found in enumerate(references) if not any(found)]
    if not hypotheses or len(hypotheses) != len(references) or missing:
        raise ValueError(
            "There must be a hypothesis, and a reference that is not empty for each "
            f"one. Received: {len(hypotheses)} hypotheses and {len(references)} lists "
            f"of references, of which {missing[:5]} are empty."
        )
    return references


def reference_streams(references):
    """References as sacrebleu takes them: lists with one entry for each hypothesis."""
    most = max(map(len, references))
    return [[r[k] if k < len(r) else None for r in references] for k in range(most)]


def _metrics():
    library = import_library("sacrebleu.metrics", "BLEU and chrF need")
    return {"bleu": library.BLEU(), "chrf": library.CHRF()}
