"""Rhai for Pygments, with Porcini's additions: nbconvert and Jupyter's console colour cells with it."""

from pygments.lexer import RegexLexer, bygroups, include, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

ESCAPE = r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.|\n)"


def word(*names):
    return words(names, prefix=r"\b", suffix=r"\b")


class RhaiLexer(RegexLexer):
    """Cells and scripts. Comments nest; texts in backticks hold code in `${}`."""

    name = "Rhai"
    url = "https://rhai.rs"
    aliases = ["rhai"]
    filenames = ["*.rhai"]
    mimetypes = ["text/x-rhai"]

    tokens = {
        "root": [
            (r"\A#!.*", Comment.Hashbang),
            # Commands: `%time x`, `?gather`, `gather?`.
            (r"\A(%%?|\?\??)(\w+(?:::\w+)*)", bygroups(Operator, Name.Decorator)),
            (r"\A(\w+(?:::\w+)*)(\?)(?=\s*\Z)", bygroups(Name.Decorator, Operator)),
            include("code"),
        ],
        "code": [
            (r"\s+", Whitespace),
            (r"//[/!].*", String.Doc),
            (r"//.*", Comment.Single),
            (r"/\*", Comment.Multiline, "comment"),
            (r'"', String.Double, "text"),
            (r"`", String.Backtick, "template"),
            (r'(#+)"[\s\S]*?"\1', String.Other),
            (rf"'(?:{ESCAPE}|[^'\\\n])'", String.Char),
            (r"0[xX][0-9a-fA-F_]+", Number.Hex),
            (r"0[oO][0-7_]+", Number.Oct),
            (r"0[bB][01_]+", Number.Bin),
            # `0..5` and `2.sqrt()` have integers.
            (r"\d[\d_]*(?:\.\d[\d_]*)?[eE][+-]?\d[\d_]*", Number.Float),
            (r"\d[\d_]*\.(?:\d[\d_]*|(?![.\w]))", Number.Float),
            (r"\d[\d_]*", Number.Integer),
            (r"(fn)(\s+)([^\W\d]\w*)", bygroups(Keyword.Declaration, Whitespace, Name.Function)),
            (word("let", "const", "private"), Keyword.Declaration),
            (word("import", "export", "as"), Keyword.Namespace),
            (word("true", "false"), Keyword.Constant),
            (word("if", "else", "switch", "for", "in", "while", "loop", "do", "until", "break", "continue", "return",
                  "throw", "try", "catch", "del", "this", "global"), Keyword),
            # FloatC, Vector3fC.
            (r"\b[A-Z]\w*C\b", Keyword.Type),
            (r"[^\W\d]\w*(?=!?\()", Name.Function),
            (r"[^\W\d]\w*|_\d+", Name),
            (r"#\{|[()\[\]{},;]", Punctuation),
            (r"[-+*/%=<>!&|^~?:.@$]+", Operator),
        ],
        "comment": [
            (r"/\*", Comment.Multiline, "#push"),
            (r"\*/", Comment.Multiline, "#pop"),
            (r"[^*/]+|[*/]", Comment.Multiline),
        ],
        "text": [
            (rf'""|{ESCAPE}', String.Escape),
            (r'"', String.Double, "#pop"),
            (r'[^"\\]+', String.Double),
        ],
        "template": [
            (r"``", String.Escape),
            (r"`", String.Backtick, "#pop"),
            (r"\$\{", String.Interpol, "interpolated"),
            (r"[^`$]+|\$", String.Backtick),
        ],
        "interpolated": [
            (r"\}", String.Interpol, "#pop"),
            (r"#?\{", Punctuation, "braces"),
            include("code"),
        ],
        "braces": [
            (r"\}", Punctuation, "#pop"),
            (r"#?\{", Punctuation, "#push"),
            include("code"),
        ],
    }
