"""SentencePiece and other subwords of translators."""
