"""Parameters of papermill in the language of Porcini: `papermill in.ipynb out.ipynb -p n 5` puts `n = 5` into a cell."""

import math
import re

from papermill.engines import NBClientEngine  # noqa: F401
from papermill.models import Parameter
from papermill.translators import Translator, papermill_translators


class RhaiTranslator(Translator):
    """Python's values as a script writes them."""

    # A line such as `n = 100  // how many`.
    DEFINITION = re.compile(r"^(?:let\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*;?\s*(?://\s*(.*))?$")

    @classmethod
    def translate_none(cls, val):
        return "()"

    @classmethod
    def translate_float(cls, val):
        if math.isfinite(val):
            return repr(val)
        if math.isnan(val):
            return "nan"
        return "inf" if val > 0 else "-inf"

    @classmethod
    def translate_list(cls, val):
        return "[" + ", ".join(map(cls.translate, val)) + "]"

    @classmethod
    def translate_dict(cls, val):
        entries = (f"{cls.translate_str(str(key))}: {cls.translate(item)}" for key, item in val.items())
        return "#{" + ", ".join(entries) + "}"

    @classmethod
    def comment(cls, cmt_str):
        return f"// {cmt_str}".strip()

    @classmethod
    def inspect(cls, parameters_cell):
        definitions = map(cls.DEFINITION.match, parameters_cell["source"].splitlines())
        return [
            Parameter(name=name, inferred_type_name="None", default=value, help=text or "")
            for name, value, text in (definition.groups() for definition in definitions if definition)
        ]


papermill_translators.register("rhai", RhaiTranslator)
