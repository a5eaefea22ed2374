"""WordPiece, the tokens of BERT."""
