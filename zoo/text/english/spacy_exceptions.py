"""The words that spaCy's English tokenizer splits, or keeps, against its rules.

fastai 0.7 and 2 lower texts before they split them, and need the words in lower case
only. fastai 1 lowers the tokens, and needs all of them.
"""

import functools
import itertools

# Words, and what may follow them. Each form also exists without its apostrophes. The
# parts of an ending are separated by a space.
CONTRACTIONS = (
    ("i", ("'m", "'m a")),
    ("i you he she it we they", ("'ll", "'ll 've", "'d", "'d 've")),
    ("i you we they", ("'ve",)),
    ("you we they", ("'re",)),
    ("he she it", ("'s",)),
    ("who what when where why how there that this", ("'s",)),
    (
        "who what when where why how there that this these those",
        ("'ll", "'ll 've", "'d", "'d 've"),
    ),
    ("who what when where why how there these those", ("'re", "'ve")),
    (
        "ca could do does did had may might must need ought sha should wo would",
        ("n't", "n't 've"),
    ),
    ("could might must should would", ("'ve",)),
    ("ai are is was were have has dare", ("n't",)),
    ("not", ("'ve",)),
)
# Words that a contraction without apostrophe would hide.
ORDINARY = ("ill", "its", "hell", "shell", "shed", "were", "well", "whore")
# Other forms of several tokens.
SPLIT = (
    "y' all",
    "y all",
    "how 'd 'y",
    "can not",
    "gon na",
    "got ta",
    "let 's",
    "c'm on",
    *(f"° {unit} ." for unit in "cfk"),
)
HOURS = tuple(
    f"{hour} {half}" for hour in range(1, 13) for half in ("a.m.", "am", "p.m.", "pm")
)
# Words that may lose a final g.
PARTICIPLES = "doin goin nothin nuthin ol somethin lovin havin"
KEPT = (
    "em 'em ll 'll nuff 'nuff 's \u2018s 'd 're 'cause 'cos 'coz 'cuz 'bout and/or w/o "
    "ma'am o'clock a.m. p.m. co. e.g. i.e. vs. v.s. <space> \\t \\n \u2014"
)
# Eyes, and the mouths that may follow them.
FACES = (
    (":", "( (( ((( () ) )) ))) * / 0 1 3 > ] o o) p x | }"),
    (":-", "( (( ((( ) )) ))) * / 0 3 > ] o p x | }"),
    (":'", "( ) -( -)"),
    (";", ") -) _;"),
    ("=", "( ) / 3 [ ] |"),
    ("<", ".< /3 3 33 333"),
    (">", ".< .> :( :o <(((*>"),
    ("(", "*_*) -8 -: -; -_-) ._.) : ; = >_<) ^_^) o: ¬_¬) ಠ_ಠ) ╯°□°）╯︵┻━┻"),
    (")", "-: :"),
    ("[", "-: : ="),
    ("8", ") -)"),
    ("", r"-_- -__- ._. 0.0 0.o 0_0 0_o @_@ ]= ^_^ ^__^ ^___^ o.0 o.o o_0 o_o v.v v_v"),
    ("", r"""' '' \") ¯\(ツ)/¯ ಠ_ಠ ಠ︵ಠ"""),
)
# Words with capitals that have no other form, and faces. All words of a contraction,
# and these words in lower case, also occur capitalised.
ABBREVIATIONS = (
    "Adm Ak Ala Apr Ariz Ark Aug Bros Calif Co Colo Conn Corp D.C Dec Del Dr E.G E.g "
    "Feb Fla Ga Gen Gov I.E I.e Ia Id Ill Inc Ind Jan Jr Jul Jun Kan Kans Ky La Ltd "
    "Mar Mass Md Messrs Mich Minn Miss Mo Mont Mr Mrs Ms Mt N.C N.D N.H N.J N.M N.Y "
    "Neb Nebr Nev Nov Oct Okla Ore Pa Ph.D Prof Rep Rev S.C Sen Sep Sept St Tenn Va "
    "Wash Wis"
)
CAPITALISED = "'cause 'cos 'coz 'cuz 's \u2018s cannot gonna gotta let's c'mon how'd'y "
CAPITALISED += "ma'am o'clock"
FACES_WITH_CAPITALS = (
    "8-D 8D :-D :-O :-P :-X :D :O :P :X ;-D ;D =D O.O O.o O_O O_o V.V V_V XD XDD o.O "
    "o_O xD xDD C++"
)


@functools.cache
def exceptions(cased=False):
    """Returns the tokens of each word with tokens of its own.

    Source: spaCy 3.8, the exceptions of its blank English pipeline.

    Args:
        cased: bool, whether to return those that contain a capital letter, too.

    Returns:
        dict of str to str, the tokens with a space between them.
    """
    found = {}
    for words, endings in CONTRACTIONS:
        for word, ending in itertools.product(words.split(), endings):
            for form in (f"{word} {ending}", f"{word} {ending}".replace("'", "")):
                found[form.replace(" ", "")] = form
    for word in ORDINARY:
        del found[word]
    found |= {form.replace(" ", ""): form for form in (*SPLIT, *HOURS)}
    kept = [*KEPT.split(), *(f"{c}." for c in "abcdefghijklmnopqrstuvwxyzäöü")]
    kept += [word + mark for word in PARTICIPLES.split() for mark in ("", "'")]
    kept += [eyes + mouth for eyes, mouths in FACES for mouth in mouths.split()]
    found |= {word: word for word in kept}
    curly = {word.replace("'", "’"): found[word].replace("'", "’") for word in found}
    found = curly | found
    return found | _with_capitals(found) if cased else found


def _with_capitals(found):
    """The exceptions that contain a capital letter, from those that contain none."""
    contracted = {
        form.replace(" ", "").replace("'", mark)
        for words, endings in CONTRACTIONS
        for word, ending in itertools.product(words.split(), endings)
        for form in (f"{word} {ending}",)
        for mark in ("'", "’", "")
    }
    words = [*PARTICIPLES.split(), *(f"{word}'" for word in PARTICIPLES.split())]
    words += [*CAPITALISED.split(), *contracted]
    words += [word.replace("'", "’") for word in words]
    new = {_capitalize(w): _capitalize(found[w]) for w in words if w in found}
    kept = [f"{word}." for word in ABBREVIATIONS.split()]
    kept += FACES_WITH_CAPITALS.split()
    new |= {f"°{unit}.": f"° {unit} ." for unit in "CFK"}
    return new | {word: word for word in kept}


def _capitalize(text):
    """The text with a capital as its first letter."""
    place = next(i for i, character in enumerate(text) if character.isalpha())
    return text[:place] + text[place].upper() + text[place + 1 :]
