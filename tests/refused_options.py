"""Files of other programs that do not fit, or whose options cannot be computed."""

from many_langs_reference import CHARACTERS, WORDS, format_dictionary

SIZE = 13  # rows of the tables of the tiny Marian
FAIRSEQ_OPTIONS = (
    ("adaptive_input", True),
    ("adaptive_softmax_cutoff", [10, 20]),
    ("cross_self_attention", True),
    ("no_cross_attention", True),
    ("no_token_positional_embeddings", True),
    ("no_decoder_final_norm", True),
    ("encoder_layers_to_keep", "0"),
    ("quant_noise_scalar", 0.5),
    ("decoder_attention_heads", 2),
    ("decoder_normalize_before", True),
    ("decoder_learned_pos", True),
    ("decoder_embed_dim", 16),
    ("decoder_output_dim", 4),
    ("activation_fn", "linear"),
    ("encoder_attention_heads", "4"),
    ("dropout", None),
)


def entries(found, *names, **more):
    """A dictionary of ELMoForManyLangs without some entries, which has others."""
    kept = [name for name in found if name not in names]
    numbers = {**{name: i for i, name in enumerate(kept)}, **more}
    return lambda _: format_dictionary(numbers).encode()


# Row of the table of layouts and file to changes and message. Changes are a dict of
# options, where a dot in a name leads into a section and `...` removes a value, or a
# function of the bytes of the file to others.
REFUSED = {
    ("bert hugging_face", "config.json"): (
        ({"model_type": "roberta"}, "`model_type` must be.*'roberta'"),
        (
            {"position_embedding_type": "relative_key"},
            "`position_embedding_type` must be.*'relative_key'",
        ),
        ({"is_decoder": True}, "`is_decoder` must be.*True"),
        ({"add_cross_attention": True}, "`add_cross_attention` must be.*True"),
        ({"pruned_heads": {"0": [1]}}, r"`pruned_heads` must be.*{'0': \[1\]}"),
        ({"hidden_act": "mish"}, "`hidden_act` must be.*'mish'"),
        ({"tokenizer_class": "BertJapaneseTokenizer"}, "must be one of .*Japanese"),
        (
            {"intermediate_size": 13},
            r"'block_0/intermediate/kernel' must be \(8, 13\); "
            r"'bert.encoder.layer.0.intermediate.dense.weight' is \(12, 8\)",
        ),
    ),
    ("bert hugging_face", "vocab.txt"): (
        (lambda text: text + b"more\n", r"18 tokens, 17 rows, in `.*vocab\.txt`"),
    ),
    ("bert hugging_face", "tokenizer_config.json"): (
        ({"word_tokenizer_type": "mecab"}, "must be one of .*Received: .*mecab"),
        ({"subword_tokenizer_type": "character"}, "must be one of .*: .*character"),
        (
            {"tokenizer_class": "BertJapaneseTokenizer"},
            "must be one of Bert.*BertJapaneseTokenizer",
        ),
        ({"strip_accents": False}, "strip accents exactly if it lower-cases"),
    ),
    ("gpt2 hugging_face", "config.json"): (
        ({"scale_attn_weights": False}, "`scale_attn_weights` must be True.*config"),
        (
            {"scale_attn_by_inverse_layer_idx": True},
            "`scale_attn_by_inverse_layer_idx` must be False.*config",
        ),
        ({"add_cross_attention": True}, "`add_cross_attention` must be False.*config"),
        ({"pruned_heads": {"0": [1]}}, "`pruned_heads` must be {}.*config"),
        ({"activation_function": "mish"}, "`activation_function` must be one.*config"),
        ({"activation_function": ["gelu"]}, "`activation_function` must be.*config"),
        ({"n_head": 3}, "`num_heads` must divide `hidden_dim`.*num_heads=3"),
        ({"n_layer": "2"}, "`n_layer` of .*config.* must be an integer"),
        ({"n_inner": 1.5}, "`n_inner` of .*config.* must be an integer"),
        ({"n_layer": 10**8}, "`n_layer` of .*config.* an integer from 1 to 1000"),
        ({"n_positions": 2 * 10**9}, "describes a model with more than"),
        ({"n_inner": None}, r"'block_0/intermediate/kernel' must be \(8, 32\)"),
        ({"n_positions": 8}, r"'position_embedding/embeddings' must be \(8, 8"),
        ({"n_layer": 1}, r"unused: 'transformer.h.1.attn.c_attn.bias' \(24,\)"),
    ),
    ("gpt1 hugging_face", "config.json"): (
        ({"afn": "gelu_new"}, "`afn` must be one of.*'gelu_new'.*config"),
    ),
    ("gpt2 openai", "hparams.json"): (
        ({"n_head": None}, "`n_head` of .*hparams.json.* must be an integer"),
        ({"n_head": 3}, "`num_heads` must divide `hidden_dim`"),
        ({"n_vocab": 265}, r"'token_embedding/embeddings' must be \(265, 8\)"),
        ({"n_embd": 16}, r"'block_0/attention/query/kernel' must be \(16, 16\)"),
    ),
    ("gpt2 keras_nlp", "config.json"): (
        ({"class_name": "OPTBackbone"}, "`class_name` must be 'GPT2Backbone'.*'OPTB"),
        ({"config": {"dropout": 0}}, "must have the values vocabulary_size, hidd"),
    ),
    ("bert keras_nlp", "config.json"): (
        ({"class_name": "RobertaBackbone"}, "`class_name` must be.*'RobertaBackbone'"),
    ),
    ("marian joint", "config.json"): (
        ({"vocab_size": 50}, "48 pieces in .*vocab.json`, and 50 rows"),
        ({"d_model": "x"}, "`d_model` of .* must be an integer"),
        ({"d_model": ...}, "must have the values d_model"),
        (
            {"decoder_ffn_dim": 8},
            "`encoder_ffn_dim` and `decoder_ffn_dim` must be",
        ),
        ({"decoder_start_token_id": 1}, "must be `pad_token_id`"),
        ({"activation_function": "mish"}, "`activation_function` must"),
        ({"normalize_before": True}, "`normalize_before` must be False"),
        ({"pad_token_id": 3, "decoder_start_token_id": 3}, "<pad>"),
        ({"eos_token_id": 1}, r"Received: \[47, 0\] in"),
    ),
    ("marian joint", "vocab.json"): (
        ({"s": ...}, "47 pieces"),
        ({"s": 6}, "from 0 without gaps"),
    ),
    ("marian joint", "generation_config.json"): (
        ({"num_beams": "4"}, "`num_beams` must be an integer"),
    ),
    ("model_garden", "transformer_config.json"): (
        ({"norm_first": ...}, "`norm_first` of .* must be true or false"),
        ({"activation": "leaky"}, "`activation` must be one of"),
        ({"norm_epsilon": 1e-12}, "`norm_epsilon` must be 1e-06"),
        ({"dropout_rate": 1.0}, r"`dropout_rate` of .* in \[0, 1\)"),
    ),
    **{
        (f"marian {name}", f"{side}.spm"): (
            (lambda content: content[:99], "must be a SentencePiece model"),
        )
        for name in ("joint", "separate", "npz")
        for side in ("source", "target")
    },
    ("marian npz", "model.npz"): (
        ({"type": "s2s"}, "`type` must be one of 'transformer'"),
        ({"transformer-postprocess": "da"}, r"Received: \('', 'da', ''\)"),
        ({"transformer-postprocess-emb": "dn"}, "`transformer-postprocess-emb` must"),
        ({"transformer-decoder-autoreg": "rnn"}, "Received: 'rnn'"),
        ({"transformer-ffn-activation": "gelu"}, "`transformer-ffn-activation` must"),
        ({"transformer-train-position-embeddings": True}, "train-position-embeddings`"),
        ({"transformer-tied-layers": [1, 1]}, "`transformer-tied-layers` must"),
        ({"dim-vocabs": [SIZE, SIZE + 1]}, "`dim-vocabs` must be two equal sizes"),
        ({"dim-vocabs": [SIZE + 1] * 2}, "13 pieces in .* and 14 rows"),
        ({"dim-emb": "x"}, "`dim-emb` of .* must be an integer"),
        ({"enc-depth": 1}, "unused: 'encoder_l2"),
        ({"tied-embeddings-all": False}, "must hold 'encoder_Wemb'"),
    ),
    ("marian npz", "opus.vocab.yml"): (
        (lambda text: text[: text.rindex(b'"piece')], "12 pieces in .* and 13 rows"),
    ),
    ("fairseq post_norm", "model.pt"): (
        *(
            ({name: value}, rf"(?=.*model\.pt).*{name}.*Received: ")
            for name, value in FAIRSEQ_OPTIONS
        ),
        ({"encoder_layers": 3}, "missing|more than"),
        ({"target_lang": "fr"}, "dictionary of the language 'fr'"),
    ),
    ("fairseq pre_norm", "model.pt"): (
        ({"max_target_positions": 30}, "must be equal"),
    ),
    ("fairseq post_norm", "dict.en.txt"): (
        (lambda text: text + b"new 1\n", "a token for every row"),
        (lambda text: text.replace(b" ", b"\t", 1), "a space and its count"),
        (lambda text: text + text.split(b"\n")[0] + b"\n", "a new token"),
        (lambda text: text + b"<unk> 3\n", "a new token"),
        (lambda text: text.replace(b"the ", b"teh ", 1), "dictionaries .* the same"),
    ),
    ("fairseq post_norm", "bpecodes"): (
        (lambda _: b"a b c d\n", "two symbols.*line 1"),
    ),
    ("ctranslate2", "source_vocabulary.json"): (
        (lambda text: text.replace(b'"a", ', b""), "of the source must have 7 tokens"),
        (lambda _: b"[1]", "must be a list of tokens"),
        (lambda text: text.replace(b"<s>", b"x"), "special token '<s>'"),
    ),
    ("opennmt_tf", "target_vocabulary.txt"): (
        (lambda text: text[:-2], "of the target must have 10 tokens"),
    ),
    ("opennmt_tf", "transformer_config.json"): (
        ({"num_heads": ...}, "`num_heads` of .* must be an integer"),
        ({"num_heads": 3}, "`num_heads` must divide"),
        ({"ffn_activation": "elu"}, "`ffn_activation` must be one of"),
    ),
    ("tensor2tensor", "vocab.x.subwords"): (
        (lambda text: text[4:], "must have a line for every row"),
    ),
    ("tensor2tensor", "hparams.json"): (
        ({"norm_type": "noam"}, "`norm_type` must be 'layer'"),
        ({"self_attention_type": "dot_product_relative"}, "`self_attention_type`"),
        ({"ffn_layer": "local_moe"}, "`ffn_layer`"),
        ({"proximity_bias": True}, "`proximity_bias` must be False"),
        ({"unidirectional_encoder": True}, "`unidirectional_encoder`"),
        ({"causal_decoder_self_attention": False}, "`causal_decoder_self_attention`"),
        ({"prepend_mode": "prepend_inputs_full_attention"}, "`prepend_mode`"),
        ({"attention_variables_3d": True}, "`attention_variables_3d`"),
        ({"hard_attention_k": 2}, "`hard_attention_k`"),
        ({"num_area_layers": 1}, "`num_area_layers`"),
        ({"symbol_modality_skip_top": True}, "`symbol_modality_skip_top`"),
        ({"attention_key_channels": 4}, "`attention_key_channels` must be 0 or 8"),
        ({"attention_value_channels": 4}, "`attention_value_channels` must be 0 or 8"),
        ({"layer_preprocess_sequence": "nd"}, "`layer_preprocess_sequence` and"),
        ({"layer_postprocess_sequence": "dan"}, "`layer_preprocess_sequence` and"),
        ({"pos": "none"}, "`pos` must be 'timing' or 'emb'"),
        ({"multiply_embedding_mode": "rescale"}, "`multiply_embedding_mode`"),
        ({"target_space_id": 32}, r"`target_space_id` must be in \[0, 32\)"),
        ({"max_length": "x"}, "hparams.json` cannot be used: TypeError"),
        ({"hidden_size": ...}, "must have the values hidden_size"),
        ({"num_hidden_layers": ...}, "must have the values num_hidden_layers"),
        ({"num_heads": 3}, "`num_heads` must divide"),
        ({"num_heads": "2"}, "`num_heads` of .* must be an integer"),
        ({"num_hidden_layers": 3}, "a model with more than the 1948 values"),
        ({"filter_size": 11}, "shape: 'encoder_block_0/intermediate/kernel'"),
    ),
    ("elmo hdf5", "options.json"): (
        ({"lstm": ...}, "KeyError: 'lstm'"),
        ({"char_cnn.filters": ...}, "KeyError: 'filters'"),
        ({"lstm.dim": 13}, "shape: 'forward_0/kernel'"),
        ({"char_cnn.n_characters": 300}, "must be 262.*261"),
    ),
    ("elmo tf1", "options.json"): (
        ({"char_cnn.n_characters": 300}, "must be 262.*261"),
    ),
    ("elmo tf1", "vocab-2016-09-10.txt"): (
        (lambda text: text[:-2], "softmax's 8 rows.* 7 words"),
        (lambda text: text + b"a\n", "8 rows.* 9 words"),
        (lambda text: b"\n".join(text.split()[::-1]), "must begin with <S>"),
        (lambda text: text[4:] + b"cat\n", "repeated tokens"),
    ),
    ("many_langs", "encoder.pkl"): (
        (lambda _: b"\x80\x02}.", "encoder.pkl.*of torch 0.4"),
    ),
    ("many_langs", "char.dic"): (
        (lambda _: b"a\t0\nb", "a tab and its id.* line 2: 'b'"),
        (lambda _: b"a\t0\nb\t-1\n", "a tab and its id.*line 2"),
        (lambda _: b"a\t0\n\nb\t1\n", "a tab and its id.*line 2"),
        (lambda _: b"a\t0\na\t1\n", "every id once.*line 2"),
        (lambda _: b"a\t0\nb\t0\n", "every id once.*line 2"),
        (lambda _: b"0\n1\n", "every id once.*line 2"),
        (lambda _: b"a\t0\nb\t2\n", "below 2.* 2, of 'b'"),
        (lambda _: b"", "char.dic.*must hold <pad>"),
        (entries(CHARACTERS, "a"), "encoder/embeddi"),
        (entries(CHARACTERS, "<pad>"), "hold <pad>"),
        (entries(CHARACTERS, "<bow>", b=16), "must include.*without <bow>"),
    ),
    ("many_langs", "word.dic"): (
        (entries(WORDS, "the"), "'word_embedding/emb"),
        (entries(WORDS, "<oov>", b=9), "must include.*without <oov>"),
    ),
    ("many_langs", "config.json"): (
        ({"config_path": ...}, "must name another configuration"),
        ({"config_path": ".."}, "must name anoth"),
        ({"config_path": "../../secret.json"}, "no secret.json in"),
    ),
    ("many_langs", "configs/cnn_sample.json"): (
        ({"encoder.dim": ...}, "KeyError: 'dim'"),
        ({"encoder.dim": "10"}, "lstm_dim='10'"),
        ({"encoder.dim": 6}, "other than `projection_dim`"),
        ({"encoder.name": "lstm"}, "encoder 'lstm'"),
        ({"token_embedder.name": "lstm"}, "embedder 'lstm'"),
        ({"token_embedder.char_dim": 0}, "char_dim=0"),
        ({"token_embedder.filters": [[1]]}, "with `encoder`"),
        ({"encoder.dim": 11}, "shape: 'forward_0/kernel'"),
        ({"token_embedder.word_dim": 0}, "unused: 'word_emb_"),
        ({"token_embedder.word_dim": 5}, "'word_embedding/embedd"),
        ({"token_embedder.activation": "x"}, "activation"),
    ),
}
