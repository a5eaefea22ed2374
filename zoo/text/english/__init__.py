"""Rules for English text: those of spaCy, fastai and GPT-1."""
