"""The style of all figures, and how they are saved, without a display."""

import contextlib
import warnings

from matplotlib.font_manager import get_font_names
from matplotlib.text import Text

from zoo.files.whole_files import replacing
from zoo.visualize.plain_text import printable, to_path, to_text

DPI = 150  # of files in pixels
NUM_COLORS = 10  # of Matplotlib's cycle; then come other styles of lines
# A legend below the axes hides no part of a curve.
LEGEND_BELOW = dict(
    loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2, frameon=False
)
# Beside Matplotlib's own, those that are installed; they have the characters of Asia.
FONTS = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Zen Hei", "PingFang SC"),
    *("Hiragino Sans", "Apple SD Gothic Neo", "Microsoft YaHei", "Malgun Gothic"),
    *("Noto Sans Devanagari", "Noto Sans Bengali", "Noto Sans Tamil", "Noto Sans Thai"),
)
INSTALLED_FONTS = {*get_font_names()}
# Text stays text in SVG, a label with a dollar sign is no formula, and equal data give
# an equal file on one machine.
STYLE = {
    "font.family": [
        "DejaVu Sans",
        *(n for n in FONTS if n in INSTALLED_FONTS),
        "sans-serif",
    ],
    "svg.fonttype": "none",
    "svg.hashsalt": "zoo",
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "savefig.facecolor": "white",
}


def shown(label):
    """A label that a legend shows; Matplotlib leaves out those that begin with "_"."""
    label = to_text(label)
    return f" {label}" if label.startswith("_") else label


@contextlib.contextmanager
def silent_glyphs():
    """Without the warnings about characters that the font does not have."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        yield


def clean_texts(figure):
    """Replaces the control characters in the texts of a figure; SVG forbids them."""
    for text in figure.findobj(Text):
        text.set_text("\n".join(map(printable, text.get_text().split("\n"))))


def save_figure(figure, path):
    """Writes a figure to a file, whose suffix is the format; returns its path.

    TypeError if the path is no path; ValueError if Matplotlib lacks the format.
    """
    path = to_path(path)
    if path.suffix.lower()[1:] not in figure.canvas.get_supported_filetypes():
        raise ValueError(
            "The name of a picture must end in .svg, .png or .pdf. Received: "
            f"{str(path)!r}."
        )
    clean_texts(figure)
    # A time would make every file different.
    times = {".svg": "Date", ".pdf": "CreationDate"}
    suffix = path.suffix.lower()
    plain = {"metadata": {times[suffix]: None}} if suffix in times else {}
    with replacing(path) as temporary, silent_glyphs():
        figure.savefig(temporary, bbox_inches="tight", dpi=DPI, **plain)
    return path
