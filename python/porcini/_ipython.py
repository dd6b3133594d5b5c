"""%load_ext porcini: cells in Rhai, listings with the names of variables."""

import re

from IPython.core.completer import SimpleCompletion, context_matcher
from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class, no_var_expand
from IPython.display import clear_output, publish_display_data

from ._scripts import run_shown, shared


class Display:
    """Shows pictures below the cell that runs."""

    def show(self, data, name, is_instead):
        transient = {"display_id": name} if name else {}
        publish_display_data(data, transient=transient, update=is_instead)

    def clear(self, wait):
        clear_output(wait)


@magics_class
class PorciniMagics(Magics):
    @no_var_expand
    @line_cell_magic
    def porcini(self, line, cell=None):
        """Runs the cell, or the rest of the line, as a script of Porcini. Arrays, numbers, texts, lists and dicts of the
        notebook that it names can be used in it; what it assigns comes back, pictures too. Names behind %%porcini are all that
        come back.

        %%porcini y
        y = sin(x) * 2
        """
        if cell is None:
            return self.run(line, None)
        options = [word for word in line.split() if not word.isidentifier()]
        if options:
            raise UsageError(f"%%porcini: got {options[0]}, expected names: those behind %%porcini are all that come back")
        return self.run(cell, line.split() or None)

    def run(self, text, wanted):
        namespace = self.shell.user_ns
        found, value = run_shown(text, namespace, wanted, Display())
        namespace.update(found)
        return value

    @line_magic
    def whos_porcini(self, line):
        """Lists the recorded values with the names of the notebook's variables; %whos_porcini all lists all."""
        from . import whos

        return whos(all="all" in line, names=self.shell.user_ns)


@context_matcher()
def complete(context):
    """Names of scripts, in cells of %%porcini and behind %porcini."""
    line = context.full_text.split("\n")[context.cursor_line][: context.cursor_position]
    if context.full_text.startswith("%%porcini"):
        above = context.full_text.split("\n")[1 : context.cursor_line]
        text = "\n".join([*above, line]) if context.cursor_line else None
    else:
        # At the beginning, or behind what the value is assigned to.
        behind = re.match(r"\s*(?:[\w\s,]+=\s*)?%porcini (.+)", line)
        text = behind and behind[1]
    if text is None:
        return {"completions": []}
    start, names = shared().complete(text, len(text))
    completions = [SimpleCompletion(text=name, type=kind) for name, kind in names]
    return {"completions": completions, "matched_fragment": text[start:]}


def load(shell):
    shell.register_magics(PorciniMagics)
    if complete not in shell.Completer.custom_matchers:
        shell.Completer.custom_matchers.append(complete)


def unload(shell):
    magics = shell.magics_manager
    for kind, name in (("cell", "porcini"), ("line", "porcini"), ("line", "whos_porcini")):
        magics.magics[kind].pop(name, None)
    magics.registry.pop(PorciniMagics.__name__, None)
    if complete in shell.Completer.custom_matchers:
        shell.Completer.custom_matchers.remove(complete)
