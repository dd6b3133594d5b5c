//! Help for what the script language itself has: lists, maps, text, times, and the shell's own functions.

use super::registry::Registry;

pub(super) fn register(registry: &mut Registry<'_>) {
    for (name, parameters, text) in LANGUAGE {
        registry.doc(name, parameters, text);
    }
    // Rhai has them of numbers; arrays have them with one argument.
    registry.doc_form("log", "(x, base)", "Of script numbers, to any base.\n\n>> log(8, 2)\n3");
    let of_two = "Of script numbers, atan2(y, x).\n\n>> atan(1, -1) == atan2(1, -1)\ntrue";
    registry.doc_form("atan", "(y, x)", of_two);
    let of_list = "Of a list: turned around in place; a copy of it, with all lists in it, is the value.\n\n>> reverse([3, 1, 2])\n[2, 1, 3]";
    registry.doc_form("reverse", "(list)", of_list);
    registry.family = "showing and watching";
    registry.doc(
        "help",
        "(\"name\")",
        "Help for a name or a topic, or a search if there is none; without one an overview.\n\n\
         >> help(\"gatherr\")\nnothing about \"gatherr\"; did you mean gather?",
    );
    registry.doc(
        "apropos",
        "(\"words\")",
        "Names whose name or text contains every one of the words.\n\n\
         >> apropos(\"base natural 2.7\")\n  e                            Base of the natural logarithm, 2.71828",
    );
}

/// Name, parameters and help.
const LANGUAGE: [(&str, &str, &str); 43] = [
    (
        "push",
        "(list, item)",
        "Adds an item at the end. push(name, arguments..) records an operation by its name, as Cengine's engine does; the value is \
         its handle, and what is alike runs as one batch when it is asked for: push(\"ctensor_add_prod\", r, a, b). Its \
         arguments stay what they are: the value has what a call would add to r. e.push(op, inputs..) gives an engine() an operator or the name of a function; its inputs are what they are then.\n\n\
         >> a = [1, 2]; a.push(3); a\n[1, 2, 3]\n\n>> push(\"sqrt\", FloatC([4, 9]))\n[2, 3]",
    ),
    (
        "pop",
        "(list)",
        "Takes the last item; of text the last character, or with t.pop(n) the last n.\n\n>> [1, 2].pop()\n2",
    ),
    ("shift", "(list)", "Takes the first item.\n\n>> [1, 2].shift()\n1"),
    (
        "insert",
        "(list, index, item)",
        "Adds an item before an index.\n\n>> a = [1, 3]; a.insert(1, 2); a\n[1, 2, 3]",
    ),
    (
        "remove",
        "(list, index)",
        "Takes out the item at an index; of a map, that of a key.\n\n>> a = [1, 2]; a.remove(0); a\n[2]",
    ),
    (
        "append",
        "(list, other)",
        "Adds all items of another list.\n\n>> a = [1]; a.append([2]); a\n[1, 2]",
    ),
    (
        "clear",
        "(list)",
        "Takes out everything; of maps and text too.\n\n>> a = [1]; a.clear(); a\n[]",
    ),
    (
        "truncate",
        "(list, n)",
        "Keeps the first n items.\n\n>> a = [1, 2, 3]; a.truncate(1); a\n[1]",
    ),
    (
        "extract",
        "(list, start, n)",
        "n items from start on as a list.\n\n>> [1, 2, 3].extract(1, 2)\n[2, 3]",
    ),
    (
        "split",
        "(text, separator)",
        "The parts between separators as a list.\n\n>> \"a,b\".split(\",\")\n[a, b]",
    ),
    (
        "is_empty",
        "(list)",
        "Whether it has no items; of maps and text too.\n\n>> [].is_empty()\ntrue",
    ),
    (
        "contains",
        "(list, item)",
        "Whether an item is in a list, a key in a map, a text in a text; also `item in list`.\n\n\
         >> [1, 2].contains(2)\ntrue",
    ),
    (
        "index_of",
        "(list, item)",
        "Index of the first equal item, or -1; of text too. A number behind it says from which index on.\n\n>> [5, 6].index_of(6)\n1",
    ),
    ("map", "(list, f)", "A list of f(item); of a range too.\n\n>> [1, 2].map(|x| x * x)\n[1, 4]"),
    (
        "filter",
        "(list, f)",
        "The items for which f(item) is true.\n\n>> [1, 2, 3].filter(|x| x > 1)\n[2, 3]",
    ),
    (
        "reduce",
        "(list, f, first)",
        "f(f(first, item0), item1) and so on; without first the list begins with it.\n\n>> [1, 2, 3].reduce(|sum, x| sum + x, 0)\n6",
    ),
    (
        "for_each",
        "(list, f)",
        "Calls f with each item as `this`.\n\n>> [1, 2].for_each(|| print(this))\n1\n2",
    ),
    (
        "some",
        "(list, f)",
        "Whether f(item) is true for some item.\n\n>> [1, 2].some(|x| x > 1)\ntrue",
    ),
    (
        "find",
        "(list, f)",
        "The first item for which f(item) is true.\n\n>> [1, 2, 3].find(|x| x > 1)\n2",
    ),
    (
        "dedup",
        "(list)",
        "Drops items equal to the one before, or those for which f(before, item) is true.\n\n>> a = [1, 1, 2]; a.dedup(); a\n[1, 2]",
    ),
    (
        "drain",
        "(list, f)",
        "Takes out the items for which f(item) is true; list.drain(start, n) takes n items from a start on.\n\n>> a = [1, 2, 3]; a.drain(|x| x > 1); a\n[1]",
    ),
    (
        "retain",
        "(list, f)",
        "Keeps those for which f(item) is true; list.retain(start, n) keeps n items from a start on.\n\n>> a = [1, 2]; a.retain(|x| x > 1); a\n[2]",
    ),
    ("keys", "(map)", "The keys in order.\n\n>> #{a: 1, b: 2}.keys()\n[a, b]"),
    ("values", "(map)", "The values in order of their keys.\n\n>> #{a: 1, b: 2}.values()\n[1, 2]"),
    (
        "mixin",
        "(map, other)",
        "Adds all entries of another map.\n\n>> a = #{x: 1}; a.mixin(#{y: 2}); a\n#{x: 1, y: 2}",
    ),
    ("to_upper", "(text)", "In capital letters.\n\n>> \"abc\".to_upper()\nABC"),
    ("to_lower", "(text)", "In small letters.\n\n>> \"ABC\".to_lower()\nabc"),
    ("trim", "(text)", "Takes blanks off both ends.\n\n>> t = \" a \"; t.trim(); t\na"),
    (
        "replace",
        "(text, old, new)",
        "Replaces every occurrence.\n\n>> t = \"a-b\"; t.replace(\"-\", \"+\"); t\na+b",
    ),
    (
        "sub_string",
        "(text, start, n)",
        "n characters from start on.\n\n>> \"abcd\".sub_string(1, 2)\nbc",
    ),
    (
        "starts_with",
        "(text, start)",
        "Whether a text starts so.\n\n>> \"abc\".starts_with(\"ab\")\ntrue",
    ),
    ("ends_with", "(text, end)", "Whether a text ends so.\n\n>> \"abc\".ends_with(\"ab\")\nfalse"),
    (
        "pad",
        "(text, n, character)",
        "Lengthens to n characters; lists too.\n\n>> t = \"7\"; t.pad(3, '.'); t\n7..",
    ),
    ("blob", "(n, byte)", "n bytes of 0, or of another number.\n\n>> blob(3).len()\n3"),
    (
        "parse_int",
        "(text, base)",
        "The integer that a text says (base 10 by default).\n\n>> parse_int(\"ff\", 16)\n255",
    ),
    ("parse_float", "(text)", "The float that a text says.\n\n>> parse_float(\"1e3\") / 2\n500"),
    (
        "to_int",
        "(x)",
        "A script number without its fraction; arrays: Int32C(x).\n\n>> to_int(2.7)\n2",
    ),
    (
        "to_float",
        "(x)",
        "A script integer as a float; arrays: FloatC(x).\n\n>> to_float(2) / 4\n0.5",
    ),
    ("to_string", "(x)", "A value as print shows it.\n\n>> FloatC([1, 2]).to_string().len()\n6"),
    (
        "timestamp",
        "()",
        "The time now; t.elapsed is the time since.\n\n>> timestamp().elapsed < 60\ntrue",
    ),
    (
        "elapsed",
        "(t)",
        "Seconds since a timestamp. eval(x) returns before x is computed: sync() waits for it.\n\n>> t = timestamp(); t.elapsed() >= 0\ntrue",
    ),
    (
        "call",
        "(f, a, ..)",
        "Calls a closure or function; one in a variable is called by its name too, f(2).\n\n>> f = |x| x + 1; f.call(2)\n3",
    ),
    (
        "curry",
        "(f, a)",
        "A function with its first argument given.\n\n>> f = |x, y| x - y; g = f.curry(5); g(2)\n3",
    ),
];
