"""Pygments reads our language: every notebook and script in the repository, and what is easily misread."""

import sys
from pathlib import Path

import nbformat
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES, Error

ROOT = Path(__file__).resolve().parents[3]
# Tokens by their short names, blanks left out.
EXACT = {
    "let x = 0..5;": "kd:let n:x o:= mi:0 o:.. mi:5 p:;",
    "1.5e-3 + 1. - 2.sqrt() * 0xFF_u": "mf:1.5e-3 o:+ mf:1. o:- mi:2 o:. nf:sqrt p:( p:) o:* mh:0xFF_ n:u",
    "`a ${f(#{k: \"}\"})} ``b`": "sb:` sb:a si:${ nf:f p:( p:#{ n:k o:: s2:\" s2:} s2:\" p:} p:) si:} se:`` sb:b sb:`",
    "/* a /* b */ c */ a": "cm:/* cm:a cm:/* cm:b cm:*/ cm:c cm:*/ n:a",
    "fn f(FloatC) {} // end": "kd:fn nf:f p:( kt:FloatC p:) p:{ p:} c1:// end",
    "%time _3 % b": "o:% nd:time n:_3 o:% n:b",
    "??gather": "o:?? nd:gather",
    "FloatC::zero?": "nd:FloatC::zero o:?",
    "'\\'' #\"a \"\"# \"\\\"\" \"a\"\"b\"": "sc:'\\'' sx:#\"a \"\"# s2:\" se:\\\" s2:\" s2:\" s2:a se:\"\" s2:b s2:\"",
    "del a, letter": "k:del n:a p:, n:letter",
}

# Sessions of what is no program.
REFUSED = {"errors.rhai", "slips.rhai"}


def sources():
    for path in sorted(ROOT.glob("examples/notebooks/*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code":
                yield path.name, cell.source
    for path in sorted(ROOT.glob("examples/scripts/*.rhai")) + sorted(ROOT.glob("tests/sessions/**/*.rhai")):
        yield path.name, path.read_text()


def main():
    lexer = get_lexer_by_name("rhai")
    failures = []
    n_sources = 0
    for name, source in sources():
        n_sources += 1
        tokens = list(lexer.get_tokens(source))
        if name not in REFUSED:
            failures += [f"{name}: {text!r} is no token" for kind, text in tokens if kind is Error]
        if "".join(text for _, text in tokens).strip() != source.strip():
            failures.append(f"{name}: text is lost")
    for source, expected in EXACT.items():
        tokens = [(kind, text.strip()) for kind, text in lexer.get_tokens(source)]
        shown = " ".join(f"{STANDARD_TYPES[kind]}:{text}" for kind, text in tokens if text)
        if shown != expected:
            failures.append(f"{source}\nexpected {expected}\nshown    {shown}")
    if failures or n_sources < 50:
        sys.exit("\n".join(failures) or f"only {n_sources} sources")


main()
