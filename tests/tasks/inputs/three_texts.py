"""Three texts of two words, with a label each and a tag for each word."""

TEXTS, LABELS = ["good film", "so dull", "a plot"], ["good", "bad", "good"]
WORDS = [text.split() for text in TEXTS]
TAGS = [["B-GOOD", "O"], ["O", "O"], ["O", "O"]]
