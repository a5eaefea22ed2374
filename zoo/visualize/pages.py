"""Pages that load nothing: HTML with its styles inside and without scripts."""

import html

from zoo.files.whole_files import replacing
from zoo.visualize.plain_text import to_path, to_text

# A picture of a report has an image inside.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def make_page(title, body, style):
    """An HTML page, str, with a title that is escaped, a body and CSS."""
    title = escape(title)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{title}</h1>\n{body}\n</main>\n</body>\n</html>\n"
    )


def escape(text):
    """Text in HTML, in ASCII; half of a surrogate pair is no Unicode."""
    return html.escape(to_text(text)).encode("ascii", "xmlcharrefreplace").decode()


def write_page(path, page):
    """Writes a page to a file; returns its path."""
    path = to_path(path)
    with replacing(path) as temporary:
        temporary.write_bytes(page.encode())
    return path
