"""Jupyter's own conformance tests; none may be skipped."""

import sys
import unittest

import jupyter_kernel_test


class Kernel(jupyter_kernel_test.KernelTests):
    kernel_name = "porcini"
    language_name = "rhai"
    file_extension = ".rhai"
    code_hello_world = 'print("hello, world")'
    code_stderr = 'eprint("hello, world")'
    completion_samples = [
        {"text": "kernel_history_c", "matches": ["kernel_history_clear"]},
        {"text": "1 + interf", "matches": []},
    ]
    complete_code_samples = ["1 + 1", "fn f(x) { x + 1 }", "a = 1;", "print(`a\nb`)", ""]
    incomplete_code_samples = ["fn f(x) {", "f(1,", "a = [1,\n2", "print(`a\n"]
    invalid_code_samples = ["let 1 = 2", "1 1", "}"]
    code_page_something = "?gather"
    code_generate_error = "nothing + 1"
    code_execute_result = [
        {"code": "6 * 7", "result": "42"},
        {"code": "FloatC([1, 2]) * 2", "result": "[2, 4]"},
        {"code": "FloatC([1, 2]) * 3", "mime": "text/html"},
        {"code": "FloatC([1, 2]) * 4", "result": "[4, 8]"},
    ]
    code_display_data = [
        {"code": 'display("text")', "mime": "text/plain"},
        {"code": "display(FloatC([1, 2]))", "mime": "text/html"},
    ]
    code_history_pattern = "6 ? 7*"
    supported_history_operations = ("tail", "range", "search")
    code_inspect_sample = "gather"
    code_clear_output = "clear_output()"

    def history_helper(self, execute_first, timeout=None, **histargs):
        # The search for the last n wants n equal cells.
        if histargs.get("n") and histargs.get("pattern"):
            execute_first = [self.code_execute_result[0]["code"]] * histargs["n"]
        return super().history_helper(execute_first, **histargs)


class Welcome(jupyter_kernel_test.IopubWelcomeTests):
    kernel_name = "porcini"
    support_iopub_welcome = True


if __name__ == "__main__":
    program = unittest.main(exit=False, verbosity=2)
    result = program.result
    if result.skipped or result.testsRun < 13:
        print(f"{result.testsRun} tests, skipped: {result.skipped}", file=sys.stderr)
        sys.exit(1)
    sys.exit(not result.wasSuccessful())
