"""%load_ext porcini: cells in Rhai, listings with the names of variables."""

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class


@magics_class
class PorciniMagics(Magics):
    @cell_magic
    def porcini(self, line, cell):
        """Runs the cell as a script of Porcini. Arrays, numbers, texts, lists and dicts of the notebook that it names can be
        used in it, and come back with what it makes of them; names behind %%porcini are all that come back.

        %%porcini y
        y = sin(x) * 2
        """
        from . import run_text

        options = [word for word in line.split() if not word.isidentifier()]
        if options:
            raise UsageError(f"%%porcini: got {options[0]}, expected names: those behind %%porcini are all that come back")
        namespace = self.shell.user_ns
        found, value = run_text(cell, namespace, wanted=line.split() or None)
        namespace.update(found)
        return value

    @line_magic
    def whos_porcini(self, line):
        """Lists the recorded values with the names of the notebook's variables; %whos_porcini all lists all."""
        from . import whos

        return whos(all="all" in line, names=self.shell.user_ns)


def load(shell):
    shell.register_magics(PorciniMagics)
