"""Words of a source, and pieces of SentencePiece of a target."""

from zoo.text.subwords.sentencepiece import SentencePieceTokenizer
from zoo.text.tokenizer import Framing
from zoo.text.words.word_tokenizer import WordTokenizer


class BitextTokenizer(WordTokenizer):
    """Splits a source into words without markers, and a target into pieces.

    The words have the ids of `WordTokenizer`. The pieces are those of
    `SentencePieceTokenizer`, which can spell every text. A model reads `start_id`
    before a target and ends it with `end_id`.

    Source: McCann et al. 2017, whose encoder reads words in lower case.

    Args:
        vocabulary: of the source, see `WordTokenizer`.
        target_model: bytes, path or base64, see `SentencePieceTokenizer`; None for a
            tokenizer of sources only.
        lowercase, digits_to_zero, unknown: see `WordTokenizer`.
        punctuation: bool, whether punctuation is split from the ends of words, see
            `zoo.text.split_punctuation`.

    Attributes:
        start_id, end_id, target_pad_id, target_vocabulary_size: ints, of the target;
            None without a model.

    Returns:
        string words, see `Tokenizer`.

    Raises:
        FileNotFoundError: if there is no file at a path.
        TypeError, ValueError: see `WordTokenizer` and `SentencePieceTokenizer`.

    Example:
        >>> tokenizer = BitextTokenizer(["the", "cat"])
        >>> tokenizer("the cat.").numpy().tolist()
        [b'the', b'cat', b'.']
    """

    files = {"vocabulary": "vocabulary.txt", "target_model": "target.model"}
    framing = Framing()
    start_id = end_id = target_pad_id = target_vocabulary_size = None

    def __init__(
        self,
        vocabulary,
        target_model=None,
        lowercase=True,
        digits_to_zero=False,
        unknown="unk",
        punctuation=True,
    ):
        super().__init__(vocabulary, lowercase, digits_to_zero, unknown)
        self.punctuation = punctuation
        self.pieces_of_target = None
        if target_model is not None:
            target = SentencePieceTokenizer(target_model)
            self.start_id, self.end_id = target.start_id, target.end_id
            self.target_pad_id = target.pad_id
            self.target_vocabulary_size = target.vocabulary_size
            self.pieces_of_target = target

    def id_to_token(self, id, target=False):
        """Returns the word of an id, or the piece of a target; see `Tokenizer`."""
        return self._target.id_to_token(id) if target else super().id_to_token(id)

    def targets(self, texts):
        """Returns the ids of texts that a model shall write, ragged int32 (B, None)."""
        return self._target(texts)

    def detokenize(self, ids):
        """Joins ids of the target to texts; see `SentencePieceTokenizer`."""
        return self._target.detokenize(ids)

    @property
    def _target(self):
        """The tokenizer of the target."""
        if self.pieces_of_target is None:
            raise ValueError(
                "A tokenizer of targets needs a `target_model`. Received: a "
                "BitextTokenizer without one."
            )
        return self.pieces_of_target

    def get_config(self):
        """The words, the options, and the model in base64."""
        target = self.pieces_of_target
        return {
            **super().get_config(),
            "punctuation": self.punctuation,
            "target_model": target and target.get_config()["model"],
        }
