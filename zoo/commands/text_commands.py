"""Commands that ask a model about texts, or learn from files of texts."""

import contextlib
import json
import os
import sys

import click

from zoo.commands import arguments, devices
from zoo.files.buckets import local_path
from zoo.files.lines import read_lines
from zoo.presets import RECORD
from zoo.serving.versions import holds_export


@click.command()
@arguments.MODEL
@click.argument("texts", nargs=-1)
@click.option(
    "--pair",
    is_flag=True,
    help="Each text is a pair, separated by a tab. This is the default for a model "
    "that was trained on pairs.",
)
@arguments.path_option(
    "--page",
    "Also write a page, .html, that marks names and other spans, phrases, or answers "
    "in the texts.",
    arguments.check_new_file,
)
@arguments.path_option(
    "--data",
    "Instead of texts: a table with a header, .csv, .tsv, .jsonl or .parquet, also "
    ".csv.gz and so on. For questions, also the JSON of SQuAD.",
)
@arguments.output_path(
    "With --data: the table to write, .csv, .tsv, .jsonl or .parquet, with all columns "
    "of the other one and those of the answers. If the command is stopped, the same "
    "command continues. For SQuAD, the JSON that its official scorer reads.",
    required=False,
)
@click.option("--text-column", metavar="COLUMN", help=arguments.COLUMNS["text_column"])
@click.option("--pair-column", metavar="COLUMN", help=arguments.COLUMNS["pair_column"])
@arguments.BATCH_SIZE
@click.option(
    "--signature",
    metavar="NAME",
    help="The signature of an export, such as score; by default serving_default.",
)
@devices.ON_DEVICES
def predict(model, texts, pair, page, data, output, batch_size, signature, **columns):
    """Print the answer to each text as a line of JSON, or add answers to a table.

    MODEL is a .keras file, a preset, or a directory of `zoo export`. An export is
    answered on the CPU by the C library of TensorFlow, without Keras. The texts are
    arguments, or lines of standard input. For a task with several columns, such as a
    question and its context, each has all columns, separated by tabs.
    """
    if bool(data) != bool(output) or data and (texts or pair or page):
        raise ValueError(
            "`--data` needs `--output`, and no other option or text. Received: "
            f"data {data}, output {output}, {len(texts)} texts, pair {pair}, page "
            f"{page}."
        )
    if data:
        arguments.check_no_input(output, [data])
    with _loaded(model, signature) as loaded:
        if data:
            options = {"batch_size": batch_size, "verbose": int(sys.stdout.isatty())}
            count = loaded.answer_file(data, output, **columns, **options)
            click.echo(f"{output}: {count} answers")
            return
        if page:
            _check_page(loaded, page)
        rows = list(texts or read_lines(sys.stdin))
        _print_answers(loaded, rows, pair, page, os.path.normpath(model))


@contextlib.contextmanager
def _loaded(model, signature):
    """A task, or the version of an export that answers, until the end of the block."""
    if holds_export(model) and not (local_path(model) / RECORD).exists():
        given = click.get_current_context().params
        if given["strategy"] or given["devices"]:
            raise ValueError(
                "An export is answered by the C library on the CPU. Received: "
                f"strategy {given['strategy']}, devices {given['devices']}. Leave them "
                "out."
            )
        from zoo.tasks.files.exported_task import ExportedTask

        options = {} if signature is None else {"signature": signature}
        with ExportedTask(model, **options) as loaded:
            yield loaded
        return
    if signature is not None:
        raise ValueError(
            f"Only an export has signatures. Received: --signature {signature} for "
            f"{model}. Leave it out, or give the directory of an export."
        )
    from zoo.programs.finetune import loading

    yield loading.load(model)


def _print_answers(loaded, rows, pair, page, name):
    """Prints a line for each row of texts, and writes a page if there is a path."""
    from zoo.programs.finetune import labelled_rows

    if pair and len(loaded.columns) == 1:
        raise ValueError(
            "`--pair` needs a task that reads pairs of texts. Received: a "
            f"{type(loaded).__name__}. Leave it out."
        )
    pair = pair or loaded.pair
    count = len(loaded.columns if pair else loaded.required_columns)
    x, answers = labelled_rows.split_columns(rows, count), []
    for answer in loaded.files.answer_rows(loaded, x):
        click.echo(json.dumps(answer, ensure_ascii=False))
        if page:
            answers.append(answer)
    if page:
        from zoo.visualize import save_spans_page

        marked = loaded.files.marked_texts(loaded, x, answers)
        save_spans_page(page, *marked, os.path.basename(name))


def _check_page(loaded, page):
    """Raises ValueError if there is no page of the answers of a model."""
    if not page.endswith(".html"):
        raise ValueError(f"The page must end in .html. Received: {page!r}.")
    if loaded.files.marked_texts is None:
        raise ValueError(
            "A page needs answers that are parts of a text. Received: --page for a "
            f"{type(loaded).__name__}. Leave it out."
        )


@click.command("fill-mask")
@arguments.PRESET
@click.argument("texts", nargs=-1, required=True)
@arguments.number_option("-k", "Candidates per [MASK].", 5)
def fill_mask(preset, texts, k):
    """Print the most probable tokens for every [MASK] in the texts."""
    import zoo

    model = zoo.from_preset(preset, task=zoo.MaskedLM.task_name)
    for text, masks in zip(texts, model.fill_mask(list(texts), k), strict=True):
        click.echo(text)
        for mask in masks:
            found = ", ".join(f"{token} {score:.3f}" for token, score in mask)
            click.echo(f"  {found}")


@click.command()
@click.argument("preset", callback=arguments.check_model)
@click.argument("text")
@click.argument("target", required=False)
@arguments.output_path(
    "The file to write: a page, .html, or a picture, .svg, .png or .pdf."
)
@click.option(
    "--kind",
    help="For a picture of a model that translates: encoder, decoder or cross. The "
    "default is cross.",
)
@arguments.number_option(
    "--layer",
    "For a picture, from 0; by default a small map of each head of all layers.",
)
@arguments.number_option(
    "--head", "For a picture of a layer, from 0; by default the mean of its heads."
)
def attend(preset, text, target, output, kind, layer, head):
    """Write a page or a picture that shows what the tokens of a text attend to.

    PRESET may also be a `.keras` file. TARGET is for models that translate: what the
    decoder writes. By default it is the translation by greedy search. The page opens
    in any browser and needs no network.
    """
    import zoo

    zoo.attend(preset, text, target, output, kind=kind, layer=layer, head=head)
    click.echo(output)


@click.command()
@arguments.PRESET
@arguments.TEXT_FILES
@arguments.output_path("The .npy file to write.")
@arguments.LAYERS
@arguments.pooling("cls", "last", "mean", "max")
@click.option(
    "--normalize", is_flag=True, default=None, help="Scale each vector to length 1."
)
@arguments.number_option("--sequence-length", "Longer texts are truncated.")
@arguments.BATCH_SIZE
@arguments.DTYPE
@devices.ON_DEVICES
def embed(preset, files, output, layers, **options):
    """Write a vector for each line of text files.

    FILES are UTF-8, plain, .gz or .xz. Options that are not given have the values of
    the preset. If the command is stopped, the same command continues after the last
    vectors.
    """
    import zoo

    arguments.check_no_input(output, files)
    options["verbose"] = int(sys.stdout.isatty())
    vectors = zoo.embed(files, preset, layers or None, output=output, **options)
    click.echo(f"{output}: {len(vectors)} vectors of {vectors.shape[1]} numbers")


@click.command()
@arguments.PRESET
@click.argument("word")
@arguments.TEXT_FILES
@arguments.LAYERS
@arguments.number_option("--groups", "Number of groups.", 2)
@arguments.number_option(
    "--limit", "Maximum number of uses. The first ones are taken.", 500
)
@arguments.number_option(
    "--neighbours", "Number of most similar uses that are printed below each use.", 0
)
@arguments.picture("uses")
def senses(preset, word, files, layers, groups, limit, neighbours, output):
    """Show groups of similar uses of a word in text files.

    Each line of FILES is a text. The groups are found by k-means in the vectors that
    the word has in its contexts. Of each group, the command prints the most typical
    uses.
    """
    import zoo
    from zoo.visualize.plain_text import printable

    uses = zoo.find_uses(preset, word, files, layers or [-1], limit=limit)
    found, labels = uses.groups(min(groups, len(uses))), [""] * len(uses)
    for number, group in enumerate(found, start=1):
        click.echo(f"group {number}: {len(group)} of {len(uses)} uses")
        for use in group[:5]:
            click.echo(f"  {printable(uses.excerpt(use))}")
            for other in uses.neighbours(use, neighbours):
                text = printable(other["text"])
                click.echo(f"    {other['similarity']:.2f}  {text}")
        for use in group:
            labels[use] = f"group {number}"
    if output:
        click.echo(uses.plot(output, labels, f"Uses of {word!r}", shown=3))


@click.command()
@arguments.TEXT_FILES
@arguments.output_path("The text file to write.")
@arguments.number_option("--embedding-dim", "Numbers in a vector.", 100)
@arguments.number_option("--minimum", "Rarer words are ignored.", 5)
@click.option("--lowercase", is_flag=True, help="Convert the texts to lower case.")
@arguments.number_option("--window", "Neighbouring words on each side.", 5)
@arguments.number_option("--epochs", "Passes over the texts.", 5)
@arguments.seed_option("the vectors at the start, and of the words that are drawn")
def vectors(files, output, **options):
    """Learn word vectors from text files.

    Each line of FILES is a sentence or a paragraph.
    """
    import zoo
    from zoo.checkpoint import write_vectors
    from zoo.checkpoint.vectors import check_text_name

    check_text_name(output)
    arguments.check_no_input(output, files)
    write_vectors(output, *zoo.train_word_vectors(files, click.echo, **options))
    click.echo(output)


@click.command()
@arguments.TEXT_FILES
@click.option(
    "--kind",
    type=click.Choice(["wordpiece", "sentencepiece", "bpe", "byte_bpe", "fastai"]),
    required=True,
    help="The kind of tokenizer.",
)
@arguments.number_option("--size", "The largest number of tokens.", required=True)
@arguments.output_path(
    "The file to write; for bpe and byte_bpe, a directory.", check=None
)
@click.option("--cased", is_flag=True, help="Keep upper case, for wordpiece.")
@arguments.number_option(
    "--character-coverage",
    "Share of the characters with a token of their own, for wordpiece and "
    "sentencepiece.",
)
def vocabulary(files, kind, size, output, cased, character_coverage):
    """Learn the vocabulary of a tokenizer from text files.

    FILES are UTF-8, plain, .gz or .xz. All of them together make one vocabulary, for
    example of two languages. An existing file OUTPUT is replaced.

    A tokenizer of zoo.text reads what is written: WordPieceTokenizer("OUTPUT"), with
    --cased and lowercase=False; SentencePieceTokenizer("OUTPUT"); for bpe
    BytePairTokenizer("OUTPUT/codes.txt", "OUTPUT/vocabulary.txt"); for byte_bpe
    GPT2Tokenizer("OUTPUT/vocabulary.json", "OUTPUT/merges.txt"). For fastai, OUTPUT is
    a JSON file, and the tokenizer FastaiTokenizer("OUTPUT").
    """
    from zoo.programs.vocabulary.vocabularies import learn_vocabulary

    arguments.check_no_input(output, files)
    if cased and kind != "wordpiece":
        raise ValueError(f"Only wordpiece takes --cased. Received: --kind {kind}.")
    options = {"lowercase": False if cased else None}
    options["character_coverage"] = character_coverage
    options = {name: value for name, value in options.items() if value is not None}
    learn_vocabulary(files, kind, size, output, **options)
    click.echo(output)


COMMANDS = (predict, fill_mask, attend, embed, senses, vectors, vocabulary)
